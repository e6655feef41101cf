#include "read/event_stream.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

constexpr std::size_t chunk_bytes = 1 << 20, most_chunks = 4;
// Real events have up to a few KiB, the rest of a trace up to a few hundred; more is damage or
// malice.
constexpr std::size_t most_event_bytes = 64 << 20, most_head_bytes = 64 << 20;

// Traces compress to a twentieth or thirtieth of their size. A large file far beyond that is
// malicious.
constexpr std::uint64_t most_ratio = 300, always_unpacked_bytes = 256 << 20;

// Decompresses a file on its own thread, a few chunks ahead of the reader.
class Unpacker {
 public:
  Unpacker(const std::filesystem::path& path, std::string shown)
      : shown_(std::move(shown)), deadline_(path), file_(gzopen(path.c_str(), "rb")) {
    if (!file_) throw Error(fmt::format("{}: cannot be read; check its permissions", shown_));
    gzbuffer(file_, 1 << 18);
    try {
      thread_ = std::thread([this] { unpack(); });
    } catch (const std::system_error&) {
      // No thread is available, so next() decompresses.
    }
  }
  ~Unpacker() {
    if (thread_.joinable()) {
      stop();
      thread_.join();
    }
    if (file_) gzclose(file_);
  }

  // The next chunk; empty at the end. Throws Error if the compressed data is damaged.
  std::vector<char> next() {
    if (!thread_.joinable() && !done_) unpack(1);
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return !chunks_.empty() || done_; });
    if (!chunks_.empty()) {
      std::vector<char> chunk = std::move(chunks_.front());
      chunks_.pop_front();
      wake_.notify_all();
      return chunk;
    }
    if (failure_) rethrow();
    if (!problem_.empty()) throw Error(problem_);
    return {};
  }

 private:
  [[noreturn]] void rethrow() const {
    try {
      std::rethrow_exception(failure_);
    } catch (const std::bad_alloc&) {
      throw Error(fmt::format("{}: not enough memory to decompress it", shown_));
    }
  }

  // Decompresses to the end, or some chunks. Stores errors for next(), because an exception on this
  // thread would end the program.
  void unpack(std::uint64_t most = ~std::uint64_t{0}) noexcept {
    try {
      for (bool end = false; !end && most > 0; --most) {
        std::vector<char> chunk = unpacked_chunk();
        end = chunk.size() < chunk_bytes;
        if (!hand_on(std::move(chunk), end)) return;
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      done_ = true;
      wake_.notify_all();
    }
  }

  // A chunk; shorter at the end.
  std::vector<char> unpacked_chunk() {
    deadline_.check();
    std::vector<char> chunk(chunk_bytes);
    const int got = gzread(file_, chunk.data(), static_cast<unsigned>(chunk.size()));
    chunk.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    read_ += chunk.size();
    const z_off_t packed = gzoffset(file_);
    if (read_ > always_unpacked_bytes && packed > 0 &&
        read_ / most_ratio > static_cast<std::uint64_t>(packed)) {
      throw Error(
          fmt::format("{}: {} of its bytes decompress to more than {} MiB, so it is not a PyTorch "
                      "profiler trace",
                      shown_, packed, read_ >> 20));
    }
    return chunk;
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    wake_.notify_all();
  }

  // False if the reader has stopped.
  bool hand_on(std::vector<char> chunk, bool end) {
    std::string problem = end ? problem_at_end() : "";
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return chunks_.size() < most_chunks || stopped_; });
    if (stopped_) return false;
    if (!chunk.empty()) chunks_.push_back(std::move(chunk));
    problem_ = std::move(problem);
    done_ = end;
    wake_.notify_all();
    return true;
  }

  std::string problem_at_end() {
    int code = Z_OK;
    gzerror(file_, &code);
    if (code == Z_BUF_ERROR) {
      return fmt::format(
          "{}: is cut off: its gzip data ends at byte {} of the decompressed text; copy or record "
          "it again",
          shown_, read_);
    }
    if (code != Z_OK && code != Z_STREAM_END) {
      return fmt::format(
          "{}: is damaged: its gzip data is invalid after byte {} of the decompressed text; copy "
          "or record it again",
          shown_, read_);
    }
    return "";
  }

  std::string shown_;
  Deadline deadline_;
  std::uint64_t read_ = 0;
  gzFile file_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::vector<char>> chunks_;
  std::string problem_;
  std::exception_ptr failure_;
  bool done_ = false, stopped_ = false;
  std::thread thread_;
};

enum Class : std::uint8_t { plain, quote, open, close };
constexpr auto classes = [] {
  std::array<Class, 256> c{};
  c['"'] = quote;
  c['{'] = c['['] = open;
  c['}'] = c[']'] = close;
  return c;
}();
Class class_of(char c) { return classes[static_cast<unsigned char>(c)]; }
bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

struct EventStream::State {
  State(const std::filesystem::path& path)
      : shown(printable(path.string())), unpacker(path, shown) {}

  std::string shown;
  Unpacker unpacker;
  std::vector<char> text;         // `used` bytes of it, then padding
  std::size_t used = 0, at = 0;   // how far it has been read
  std::uint64_t text_offset = 0;  // of text[0]
  std::uint64_t event_offset = 0;

  // The position: outside the array of events, in it, or in one of its objects.
  enum { outside, in_array, in_event } where = outside;
  int depth = 0, array_depth = 0;  // of brackets; also counted within an event
  bool in_string = false, escaped = false;
  bool started = false, bare = false, events_seen = false;
  std::size_t begin = 0;  // of the current event in `text`
  std::int64_t strays = 0;
  bool in_stray = false;
  std::string head, word;  // word: the last string outside, while it may be a key
  bool key_read = false;   // `word` and a colon have just been read

  [[noreturn]] void fail(const char* what) const {
    throw Error(
        fmt::format("{}: {} at byte {}; copy or record it again", shown, what, text_offset + at));
  }

  // Keeps what is still needed and reads on. False at the end of the file.
  bool more() {
    const std::size_t keep = where == in_event ? begin : at;
    if (used - keep > most_event_bytes) {
      fail("an event of more than 64 MiB, so it is not a PyTorch profiler trace,");
    }
    const std::vector<char> chunk = unpacker.next();
    if (chunk.empty()) return false;
    // At first there is no text to move.
    if (keep < used) std::memmove(text.data(), text.data() + keep, used - keep);
    used -= keep;
    at -= keep;
    text_offset += keep;
    if (where == in_event) begin = 0;
    if (text.size() < used + chunk.size() + padding) text.resize(used + chunk.size() + padding);
    std::memcpy(text.data() + used, chunk.data(), chunk.size());
    used += chunk.size();
    return true;
  }

  // Moves past the string that contains `at`. False if the text ends first.
  bool skip_string() {
    for (; at < used; ++at) {
      const char c = text[at];
      if (escaped) {
        escaped = false;
      } else if (c == '\\') {
        escaped = true;
      } else if (c == '"') {
        ++at;
        in_string = false;
        return true;
      }
    }
    return false;
  }

  // Moves past the current event. False if the text ends first.
  bool skip_event() {
    while (at < used) {
      if (in_string) {
        if (!skip_string()) return false;
        continue;
      }
      const Class c = class_of(text[at++]);
      if (c == plain) continue;
      if (c == quote) {
        in_string = true;
      } else if (c == open) {
        ++depth;
      } else if (--depth == array_depth) {
        return true;
      }
    }
    return false;
  }

  // Moves to the next event or the end of the array. False if the text ends first.
  bool skip_to_event() {
    for (; at < used; ++at) {
      const char c = text[at];
      if (c == ',') {
        in_stray = false;
      } else if (c == '{') {
        where = in_event;
        begin = at++;
        ++depth;
        in_stray = false;
        return true;
      } else if (c == ']') {
        where = outside;
        --depth;
        ++at;
        return true;
      } else if (!is_space(c)) {
        if (c == '"' || c == '[' || c == '}') {
          fail("its array of events contains something other than events");
        }
        if (!in_stray) {
          ++strays;  // null, a number
        }
        in_stray = true;
      }
    }
    return false;
  }

  // Reads what is outside the array into `head`, up to the next array of events. False if the text
  // ends first.
  bool read_head() {
    while (at < used) {
      const std::size_t from = at;
      if (in_string) {
        const bool whole = skip_string();
        head.append(text.data() + from, at - from);
        if (word.size() < 32) {
          word.append(text.data() + from, std::min<std::size_t>(at - from, 32));
        }
        if (head.size() > most_head_bytes) {
          fail("more than 64 MiB besides its events, so it is not a PyTorch profiler trace,");
        }
        if (!whole) return false;
        continue;
      }
      const char c = text[at];
      if (!started && is_space(c)) {
        ++at;
        continue;
      }
      if (!started && c != '{' && c != '[') fail("is not JSON");
      const bool events = depth == 1 && key_read && word == "traceEvents\"";
      if (c == '[' && (!started || events)) {
        bare = bare || !started;
        started = events_seen = true;
        array_depth = ++depth;
        where = in_array;
        ++at;
        key_read = false;
        head += bare ? "" : "[";
        return true;
      }
      started = true;
      if (c == '"') {
        in_string = true;
        word.clear();
        key_read = false;
      } else if (c == ':') {
        key_read = true;
      } else if (!is_space(c)) {
        key_read = false;
      }
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth < 0) fail("a closing bracket without an opening one");
      if (!bare) head += c;
      ++at;
      if (head.size() > most_head_bytes) {
        fail("more than 64 MiB besides its events, so it is not a PyTorch profiler trace,");
      }
    }
    return false;
  }
};

EventStream::EventStream(const std::filesystem::path& path)
    : state_(std::make_unique<State>(path)) {}
EventStream::~EventStream() = default;

bool EventStream::next(std::string_view& event) {
  State& s = *state_;
  for (;;) {
    bool moved = false;
    switch (s.where) {
      case State::outside: moved = s.read_head(); break;
      case State::in_array:
        moved = s.skip_to_event();
        if (moved && s.where == State::outside && !s.bare) s.head += ']';
        break;
      case State::in_event:
        moved = s.skip_event();
        if (moved) {
          s.where = State::in_array;
          s.event_offset = s.text_offset + s.begin;
          event = {s.text.data() + s.begin, s.at - s.begin};
          return true;
        }
    }
    if (!moved && !s.more()) {
      if (s.depth > 0 || s.in_string) s.fail("is cut off: its JSON ends in the middle");
      if (!s.started) s.fail("is not JSON: it is empty");
      return false;
    }
  }
}

std::uint64_t EventStream::offset() const { return state_->event_offset; }
const std::string& EventStream::head() const { return state_->head; }
bool EventStream::has_events() const { return state_->events_seen; }
std::int64_t EventStream::strays() const { return state_->strays; }

}  // namespace gh
