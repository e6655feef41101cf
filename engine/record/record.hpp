// Programs run, recorded, and run again with fixes; what was predicted of these.
#pragma once
#include "record/launcher.hpp"
#include "record/ledger.hpp"
#include "record/recording.hpp"
#include "record/trials.hpp"
