#include "tools/cost/input.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "reference/error.h"
#include "reference/shaping.h"

namespace draftproof::tools::cost {

namespace {

constexpr std::size_t kElementsMax = std::size_t{1} << 31;

/// Bell-shaped by four uniform parts, deviation about 3: a few tokens have most of the mass.
float logit(std::mt19937_64& engine) {
  const std::uint64_t word = engine();
  float sum = 0;
  for (int part = 0; part < 4; ++part) sum += static_cast<float>(word >> 16 * part & 0xffff);
  return (sum * 0x1p-16f - 2.0f) * 5.0f;
}

reference::Row logits(std::mt19937_64& engine, const Shape& shape) {
  reference::Row row(shape.vocab_size);
  for (float& value : row) value = reference::rounded_to(shape.format, logit(engine));
  return row;
}

reference::Row softmax(const reference::Row& row) {
  const float maximum = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float value : row) sum += std::exp(static_cast<double>(value - maximum));
  reference::Row result(row.size());
  std::transform(row.begin(), row.end(), result.begin(), [&](float value) {
    return static_cast<float>(std::exp(static_cast<double>(value - maximum)) / sum);
  });
  return result;
}

reference::Token place_of_largest(const reference::Row& row) {
  return static_cast<reference::Token>(std::max_element(row.begin(), row.end()) - row.begin());
}

reference::Request make_request(const Shape& shape, std::mt19937_64& engine) {
  reference::Request request;
  if (shape.has_filters) request.sampling = {kTemperature, kTopK, kTopP, 0};
  for (std::size_t i = 0; i <= shape.draft_length; ++i)
    request.target_rows.push_back(logits(engine, shape));
  for (std::size_t i = 0; i < shape.draft_length; ++i) {
    reference::Row draft = logits(engine, shape);
    reference::Token token = place_of_largest(request.target_rows[i]);
    if (i < shape.accepted()) {
      draft[static_cast<std::size_t>(token)] = -12;
    } else {
      token = place_of_largest(draft);
      request.target_rows[i][static_cast<std::size_t>(token)] =
          -std::numeric_limits<float>::infinity();
    }
    request.proposal.tokens.push_back(token);
    request.proposal.rows.push_back(softmax(draft));
  }
  return request;
}

}  // namespace

std::size_t Shape::row_bytes() const {
  return vocab_size * (format == reference::LogitFormat::kFloat32 ? 4 : 2);
}

std::size_t Shape::floor_bytes() const {
  return requests * ((draft_length + 1) * row_bytes() + (draft_length == 0 ? 0 : vocab_size * 4));
}

Input make_input(const Shape& shape, std::uint64_t seed) {
  if (shape.vocab_size < 8 || shape.requests == 0)
    throw Error(ErrorKind::kInput, "takes a vocabulary of 8 or more and at least one request",
                "the shape");
  if (shape.requests > kElementsMax / shape.vocab_size ||
      shape.requests * shape.vocab_size > kElementsMax / (2 * shape.draft_length + 1))
    throw Error(ErrorKind::kInput, "has more than 2^31 logits; take a smaller one", "the shape");
  Input input;
  input.shape = shape;
  input.batch.vocab_size = shape.vocab_size;
  input.batch.preset = reference::preset("default");
  input.batch.draft_kind = reference::RowKind::kProbabilities;
  input.batch.format = shape.format;
  std::mt19937_64 engine(seed);
  for (std::size_t r = 0; r < shape.requests; ++r) {
    input.batch.requests.push_back(make_request(shape, engine));
    input.batch.requests.back().id = static_cast<std::uint32_t>(r);
  }
  return input;
}

}  // namespace draftproof::tools::cost
