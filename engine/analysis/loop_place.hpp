// Where another loop of the program lies: before the judged steps, after them, or at the same time.
#pragma once

namespace gh {

enum class LoopPlace { before, beside, after };

}  // namespace gh
