// Addresses of engines and grammars in their words. Goal: what stands in an address is what is
// asked, or it is refused with what it must be; a regular expression means the same as GBNF.
// Method: texts in, parts or complaints out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/error.h"
#include "tools/engines/dialects/regex_grammar.h"
#include "tools/engines/http.h"

namespace draftproof::tests {
namespace engine_addresses {
namespace {

using testing::HasSubstr;
using testing::Not;
using tools::engines::gbnf_of_regex;
using tools::http::parse_url;
using tools::http::Url;

TEST(EngineAddresses, HaveASchemeAHostAPortAndAPrefix) {
  const Url plain = parse_url("http://example.org");
  EXPECT_FALSE(plain.is_tls);
  EXPECT_EQ(plain.port, 80);
  EXPECT_EQ(plain.prefix, "");
  const Url full = parse_url("https://[::1]:8443/gpu/one/");
  EXPECT_TRUE(full.is_tls);
  EXPECT_EQ(full.host, "::1");
  EXPECT_EQ(full.port, 8443);
  EXPECT_EQ(full.prefix, "/gpu/one");
  EXPECT_EQ(full.text(), "https://[::1]:8443/gpu/one");
  EXPECT_EQ(parse_url("https://example.org/v1").port, 443);
}

TEST(EngineAddresses, AreRefusedWithWhatTheyMustBe) {
  for (const char* wrong :
       {"", "example.org:80", "ftp://example.org", "http://", "http://:80",
        "http://a:", "http://a:0", "http://a:65536", "http://a:8x", "http://a b", "http://a/?x=1",
        "http://a/#top", "http://[::1", "http://[::1]x", "http://a\n.b", "HTTP//a"}) {
    try {
      parse_url(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.place(), "url");
      EXPECT_THAT(error.message(), HasSubstr("http(s)://HOST[:PORT][/PREFIX]")) << wrong;
    }
  }
}

TEST(EngineAddresses, AreRefusedWithoutTellingThePasswordInThem) {
  try {
    parse_url("https://me:sesame@example.org");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("api_key_env"));
    EXPECT_THAT(error.what(), Not(HasSubstr("sesame")));
  }
}

TEST(EngineGrammars, SayInGbnfWhatTheRegularExpressionSays) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"ab", R"("a" "b")"},
      {"^ab$", R"("a" "b")"},
      {"a|bc|", R"("a" | "b" "c" | "")"},
      {"(?:a|b)+c?", R"(("a" | "b")+ "c"?)"},
      {"[^a-c\\-x]*", R"([^a-c\x2Dx]*)"},
      {"[a^]", R"([a\x5E])"},
      {"\\d{2,4}\\.\\S", R"([0-9]{2,4} "." [^ \t\n\r])"},
      {"a{3}b{1,}", R"("a"{3} "b"{1,})"},
      {"\\$\"\\\\", R"("$" "\"" "\\")"},
      {".", R"([^\n])"},
      {"\xc3\xa9+", "\"\xc3\xa9\"+"},
      {"", R"("")"}};
  for (const auto& [regex, gbnf] : pairs) EXPECT_EQ(gbnf_of_regex(regex), "root ::= " + gbnf);
}

TEST(EngineGrammars, RefuseWhatGbnfCannotSay) {
  for (const char* wrong : {"(?=a)", "(a", "a)", "[a", "*a", "a**", "a+?", "a{,3}", "a{x}", "a{2",
                            "a^b", "a$b", "\\1", "\\b", "(?i)a", "[[:alpha:]]", "\\"}) {
    try {
      gbnf_of_regex(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.place(), "grammar");
    }
  }
  EXPECT_THROW(gbnf_of_regex(std::string(1000, '(')), Error);
}

TEST(EngineStreams, AreCutIntoTheirEventsHoweverTheyComeInPieces) {
  const std::string stream =
      ": ping\n\ndata: {\"a\":1}\n\nevent: x\r\ndata:{\"b\":2}\r\n\r\ndata: [DONE]\n\n";
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    tools::http::EventReader reader;
    std::vector<std::string> payloads;
    for (std::size_t at = 0; at < stream.size(); at += size)
      for (const auto& payload : reader.add(std::string_view(stream).substr(at, size)))
        payloads.push_back(payload);
    EXPECT_EQ(payloads, (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", "[DONE]"})) << size;
  }
}

}  // namespace
}  // namespace engine_addresses
}  // namespace draftproof::tests
