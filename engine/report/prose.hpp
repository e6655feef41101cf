// Sentences of rules and findings as HTML: code, between backticks, in monospace, and the names of
// frameworks' APIs as links to their documentation (schemas/links.toml).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gh {

/// A sentence as HTML, with what stands between backticks as code. The page's script puts a copy
/// button behind code of more than one token (a command, a call with arguments), unless `copy` is
/// false: nobody pastes the kernel names that messages quote. An address is linked once a sentence.
std::string prose_html(std::string_view text, bool copy = true);

/// At most so many letters of a sentence; one that is cut loses its backticks with its end.
std::string shortened_sentence(const std::string& text, std::size_t most);

/// The same in a paragraph, and in a list of sentences; "" of none.
std::string prose_paragraph(std::string_view text, bool copy = true);
std::string prose_list(const std::vector<std::string>& items, std::string_view css_class = "");

/// The addresses that names lead to, for tests.
std::vector<std::string> documentation_addresses();

}  // namespace gh
