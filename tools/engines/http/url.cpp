// Addresses of servers, as far as clients of engines need them (RFC 3986 without user names,
// queries and fragments, each of which somebody would take for sent).
#include <algorithm>
#include <cctype>

#include "tools/engines/http.h"

namespace draftproof::tools::http {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& message) {
  throw Error(ErrorKind::kInput,
              "\"" + std::string(text) + "\" " + message + "; give http(s)://HOST[:PORT][/PREFIX]",
              "url");
}

int port_of(std::string_view digits, std::string_view text) {
  if (digits.empty() || digits.size() > 5 ||
      !std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); }))
    refuse(text, "has no port behind its ':'");
  const int port = std::stoi(std::string(digits));
  if (port < 1 || port > 65535) refuse(text, "has a port outside of 1 to 65535");
  return port;
}

}  // namespace

std::string Url::text() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return std::string(is_tls ? "https://" : "http://") + (is_v6 ? "[" + host + "]" : host) + ":" +
         std::to_string(port) + prefix;
}

Url parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.is_tls = true;
    url.port = 443;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    refuse(text, "begins with neither http:// nor https://");
  }
  const std::string_view authority = rest.substr(0, rest.find('/'));
  // A password would be told in messages and reports, so it is not even repeated here.
  if (authority.find('@') != std::string_view::npos)
    throw Error(ErrorKind::kInput,
                "has credentials before an '@'; name the variable that holds the key in "
                "api_key_env instead",
                "url");
  for (const char byte : rest)
    if (byte <= ' ' || byte > '~' || std::string_view("?#\"<>\\^`{|}").find(byte) != rest.npos)
      refuse(text, std::string("has '") + (byte > ' ' && byte <= '~' ? byte : ' ') +
                       "', which is no part of a server's address");
  std::size_t host_end = authority.find(':');
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) refuse(text, "has a '[' without its ']'");
    url.host = authority.substr(1, close - 1);
    host_end = close + 1;
    if (host_end < authority.size() && authority[host_end] != ':')
      refuse(text, "goes on behind its ']'");
  } else {
    url.host = authority.substr(0, host_end);
  }
  if (url.host.empty()) refuse(text, "names no host");
  if (host_end < authority.size()) url.port = port_of(authority.substr(host_end + 1), text);
  url.prefix = rest.substr(authority.size());
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  return url;
}

}  // namespace draftproof::tools::http
