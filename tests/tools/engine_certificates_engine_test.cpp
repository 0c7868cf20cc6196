// Engines behind TLS. Goal: a server is spoken to when its certificate is trusted for its name, and
// to no other one is a request, let alone a key, ever sent. Method: a server with a certificate
// made here for "localhost", asked with and without trust in it, and by another name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#define CPPHTTPLIB_OPENSSL_SUPPORT  // as the library was compiled: its types differ without them
#define CPPHTTPLIB_ZLIB_SUPPORT
#define CPPHTTPLIB_BROTLI_SUPPORT
#include <httplib.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "reference/error.h"
#include "tools/engines/http.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;
using tools::http::Client;
using tools::http::ConnectionError;
using tools::http::parse_url;

/// A key, and a certificate of it for "localhost", its own authority.
struct Certificate {
  Certificate() {
    key = EVP_EC_gen("P-256");
    x509 = X509_new();
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, key);
    X509_NAME* name = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(x509, name);
    X509_EXTENSION* names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost");
    X509_add_ext(x509, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(x509, key, EVP_sha256());
  }
  Certificate(const Certificate&) = delete;
  ~Certificate() {
    X509_free(x509);
    EVP_PKEY_free(key);
  }
  void write(const std::filesystem::path& file) const {
    std::FILE* out = std::fopen(file.c_str(), "w");
    PEM_write_X509(out, x509);
    std::fclose(out);
  }

  EVP_PKEY* key = nullptr;
  X509* x509 = nullptr;
};

/// SSL_CERT_FILE for a while.
class Trusted {
 public:
  explicit Trusted(const std::string& file) {
    if (const char* before = std::getenv("SSL_CERT_FILE")) before_ = before;
    ::setenv("SSL_CERT_FILE", file.c_str(), 1);
  }
  ~Trusted() {
    if (before_.empty()) {
      ::unsetenv("SSL_CERT_FILE");
    } else {
      ::setenv("SSL_CERT_FILE", before_.c_str(), 1);
    }
  }

 private:
  std::string before_;
};

TEST(EngineCertificates, AreCheckedForTrustAndForTheName) {
  const Certificate certificate, stranger;
  httplib::SSLServer server(certificate.x509, certificate.key);
  ASSERT_TRUE(server.is_valid());
  server.set_keep_alive_timeout(1);
  std::atomic<int> requests{0};
  server.Post("/v1/completions", [&](const httplib::Request& in, httplib::Response& out) {
    ++requests;
    out.set_content(in.body + in.get_header_value("Authorization"), "text/plain");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread thread([&] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();

  const auto folder = std::filesystem::temp_directory_path() /
                      ("draftproof-certificates-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  certificate.write(folder / "own.pem");
  stranger.write(folder / "stranger.pem");
  tools::http::ClientOptions options;
  options.headers = {{"Authorization", "Bearer key"}};
  const auto ask = [&](const std::string& host) {
    return Client(parse_url("https://" + host + ":" + std::to_string(port)), options)
        .post("/v1/completions", "hello ");
  };
  const auto expect_refused = [&](const std::string& host) {
    try {
      ask(host);
      ADD_FAILURE() << host;
    } catch (const ConnectionError& error) {
      EXPECT_EQ(error.stage(), ConnectionError::Stage::kNotConnected);
      EXPECT_THAT(error.message(), HasSubstr("SSL_CERT_FILE"));
    }
    EXPECT_EQ(requests, 0) << "a key was sent to somebody who is not trusted";
  };
  {
    const Trusted other(folder / "stranger.pem");
    expect_refused("localhost");
  }
  {
    const Trusted own(folder / "own.pem");
    expect_refused("127.0.0.1");  // the certificate is for the name
    EXPECT_EQ(ask("localhost").body, "hello Bearer key");
    EXPECT_EQ(requests, 1);
  }
  server.stop();
  thread.join();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace draftproof::tests
