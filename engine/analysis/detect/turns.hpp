// Devices of a process and streams of a device of which one works while the others wait for it.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/analysis.hpp"
#include "trace/row_set.hpp"

namespace gh {

/// Two streams whose kernels take turns, although both had been launched and would fit on the
/// device together.
struct StreamTurns {
  std::int64_t count = 0;   ///< how often one began right when one of the other ended
  std::int64_t events = 0;  ///< of these, how often its stream had to wait for an event
  Ns wait_ns = 0;           ///< by which they could have begun earlier
  bool legacy = false;      ///< CUDA orders one, the legacy default stream, against the other
  std::vector<Row> first, second;  ///< the kernels of both in the steps; `first` takes more time
};

/// Those that wait longest, at most `most` pairs.
std::vector<StreamTurns> find_stream_turns(const Analysis& analysis, std::size_t most);

/// A process that uses several devices.
struct DeviceTurns {
  std::size_t devices = 0;
  Ns busy_ns = 0;      ///< of all devices together
  Ns together_ns = 0;  ///< when at least two were busy
  RowSet idle;         ///< rows of all idle time, device by device, while another one works
  RowSet copies;       ///< between devices
};
std::vector<DeviceTurns> find_device_turns(const Analysis& analysis);

}  // namespace gh
