// Cleans the texts of a copy, including forms that the remover does not know.
#pragma once
#include <string>
#include <string_view>

#include "read/scrub/proof.hpp"
#include "read/scrub/remover.hpp"

namespace gh::scrubbing {

class Cleaner {
 public:
  /// With a proof, also removes what the proof still finds, together with the words around it or,
  /// if these cannot be determined, the whole text. Both must outlive the cleaner.
  explicit Cleaner(const Remover& remover, const Proof* proof = nullptr)
      : remover_(remover), proof_(proof) {}

  /// Replaces what must be removed. False if there was nothing.
  bool remove_from(std::string& text) const;
  /// Whether remove_from would change anything, as in Remover.
  bool finds_in(std::string_view text) const;

 private:
  bool cut_words(std::string& text) const;

  const Remover& remover_;
  const Proof* proof_;
};

/// Calls write(cleaner), then prove(). If something is left in a form that the remover does not
/// know, which is rare, calls begin_anew() and then both again. This time each text is checked by
/// the proof before it is written, which takes as long again.
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
