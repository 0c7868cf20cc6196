#include "tools/toys/toy_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "reference/error.h"
#include "tools/store/atomic_file.h"
#include "tools/toys/sha256.h"
#include "tools/toys/toy_model_files.h"

namespace draftproof::tools::toys {
namespace {

namespace fs = std::filesystem;

/// The files that a manifest of ours has written here before.
std::vector<StoredFile> own_files(const fs::path& manifest) {
  if (!fs::exists(manifest)) return {};
  try {
    return load_manifest(manifest).files;
  } catch (const Error& error) {
    throw Error(ErrorKind::kInput,
                fmt::format("is there and is no manifest of this version ({}); choose another "
                            "--out, or remove it",
                            error.what()),
                manifest.string());
  }
}

template <typename Files>
bool names(const Files& files, const std::string& name) {
  return std::any_of(files.begin(), files.end(),
                     [&](const auto& file) { return file.name == name; });
}

void refuse_others(const ToyFileOptions& options, const fs::path& manifest,
                   const std::vector<StoredFile>& own, const std::vector<ModelFile>& files) {
  for (const ModelFile& file : files) {
    const fs::path path = options.folder / file.name;
    if (!fs::exists(path) || names(own, file.name)) continue;
    if (fs::is_regular_file(path) && store::read_file(path) == file.bytes) continue;
    throw Error(ErrorKind::kInput,
                fmt::format("is there and is not listed in {}; choose another --out, or remove it",
                            manifest.string()),
                path.string());
  }
}

/// What the toy of this name had in another format goes, or it would be left without a manifest.
/// Only what still has the bytes that were written, under a name that is written here.
void remove_stale(const ToyFileOptions& options, const std::vector<StoredFile>& own,
                  const std::vector<ModelFile>& files) {
  const fs::path model_folder = options.folder / options.name;
  for (const StoredFile& old : own) {
    const fs::path path = options.folder / old.name;
    const bool is_place_ours =
        old.name == options.name + ".gguf" || path == model_folder / fs::path(old.name).filename();
    if (!is_place_ours || names(files, old.name) || !fs::is_regular_file(path)) continue;
    if (sha256(store::read_file(path)) == old.sha256) fs::remove(path);
  }
  std::error_code ignored;  // a folder that holds anything stays
  fs::remove(model_folder, ignored);
}

}  // namespace

void validate(const ToyFileOptions& options) {
  if (options.format != "gguf" && options.format != "safetensors")
    throw Error(ErrorKind::kInput, "there is no " + options.format + "; known: gguf, safetensors",
                "--format");
  const auto& tokenizers = gguf_tokenizers();
  if (std::find(tokenizers.begin(), tokenizers.end(), options.tokenizer) == tokenizers.end())
    throw Error(
        ErrorKind::kInput,
        fmt::format("there is no {}; known: {}", options.tokenizer, fmt::join(tokenizers, ", ")),
        "--tokenizer");
  const bool is_named = !options.name.empty() && options.name.front() != '.' &&
                        std::all_of(options.name.begin(), options.name.end(), [](char byte) {
                          return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                                 (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' ||
                                 byte == '-';
                        });
  if (!is_named)
    throw Error(ErrorKind::kInput,
                fmt::format("is '{}'; take letters, digits, '.', '_' and '-'", options.name),
                "--name");
}

Manifest write_toy(const ToySpec& spec, const ToyFileOptions& options) {
  validate(spec);
  validate(options);
  const auto weights = weights_of(spec);
  const bool is_gguf = options.format == "gguf";
  std::vector<ModelFile> files;
  if (is_gguf) {
    files = {gguf_model(spec, weights, options.dtype, options.tokenizer)};
    files.front().name = options.name + ".gguf";
  } else {
    files = safetensors_model(spec, weights, options.dtype);
    for (ModelFile& file : files) file.name = options.name + "/" + file.name;
  }
  const fs::path path = options.folder / (options.name + ".toy.json");
  const std::vector<StoredFile> own = own_files(path);
  refuse_others(options, path, own, files);
  Manifest manifest{.name = options.name,
                    .spec = spec,
                    .weights_sha256 = weights_hash(weights),
                    .format = options.format,
                    .dtype = std::string(to_string(options.dtype)),
                    .tokenizer = is_gguf ? options.tokenizer : "tokenizer.json",
                    .model = is_gguf ? options.name + ".gguf" : options.name,
                    .files = {}};
  constexpr std::string_view kRemedy = "choose another folder with --out";
  for (const ModelFile& file : files) {
    store::write_atomically(options.folder / file.name, file.bytes, kRemedy);
    manifest.files.push_back({file.name, file.bytes.size(), sha256(file.bytes)});
  }
  remove_stale(options, own, files);
  store::write_atomically(path, manifest_text(manifest), kRemedy);
  return manifest;
}

}  // namespace draftproof::tools::toys
