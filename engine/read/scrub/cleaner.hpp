// Cleans the texts of a copy, also of what the remover knows no form of.
#pragma once
#include <string>
#include <string_view>

#include "read/scrub/proof.hpp"
#include "read/scrub/remover.hpp"

namespace gh::scrubbing {

class Cleaner {
 public:
  /// With a proof, what that still finds goes as well: with it the words around it or, where they
  /// cannot be told, the whole text. Both have to outlive it.
  explicit Cleaner(const Remover& remover, const Proof* proof = nullptr)
      : remover_(remover), proof_(proof) {}

  /// Puts something else in the place of what has to go. False where nothing was there.
  bool remove_from(std::string& text) const;
  /// Whether that would change anything, as in Remover.
  bool finds_in(std::string_view text) const;

 private:
  bool cut_words(std::string& text) const;

  const Remover& remover_;
  const Proof* proof_;
};

/// Calls write(cleaner), then prove(). Where something is left that the remover knows no form of,
/// which is rare, begin_anew() and both once more, with each text put to the proof before it is
/// written: that takes as long again.
template <class Write, class Prove, class BeginAnew>
void write_proven(const Remover& remover, const Proof& proof, Write write, Prove prove,
                  BeginAnew begin_anew) {
  try {
    write(Cleaner(remover));
    prove();
  } catch (const LeftOver&) {
    begin_anew();
    write(Cleaner(remover, &proof));
    prove();
  }
}

}  // namespace gh::scrubbing
