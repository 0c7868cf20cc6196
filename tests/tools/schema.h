// Schema: holds a JSON text against a published schema with an independent implementation.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace draftproof::tests {

inline std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot start python3";
  std::array<char, 4096> buffer;
  for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    out.append(buffer.data(), got);
  }
  const int status = ::pclose(pipe);
  return status == 0 ? out : out + "python3 failed";
}

/// False when python3-jsonschema is missing; the test then skips.
inline bool can_validate() {
  return std::system("python3 -c 'import jsonschema' 2>/dev/null") == 0;
}

/// Empty when `json` conforms to tools/schema/NAME, else the first complaint.
inline std::string schema_complaint(const std::string& name, const std::string& json) {
  const std::string file = (std::filesystem::temp_directory_path() /
                            ("draftproof-schema-" + std::to_string(::getpid()) + ".json"))
                               .string();
  std::ofstream(file) << json;
  const std::string script =
      "import json,sys,jsonschema\n"
      "schema=json.load(open(sys.argv[1]))\n"
      "jsonschema.Draft202012Validator.check_schema(schema)\n"
      "errors=list(jsonschema.Draft202012Validator(schema).iter_errors(json.load(open(sys.argv[2]))"
      "))\n"
      "print(errors[0].message[:300] if errors else '',end='')\n";
  const std::string complaint =
      output_of("python3 -c \"" + script + "\" " DRAFTPROOF_SOURCE_DIR "/tools/schema/" + name +
                " " + file + " 2>&1");
  std::filesystem::remove(file);
  return complaint;
}

}  // namespace draftproof::tests
