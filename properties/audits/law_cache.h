// Law cache: the known laws of the contexts that a setting's answers pass through, each asked for
// once and prepared for evidence when it comes again. A target that reads few last tokens has few
// contexts, so that millions of tokens cost a look-up each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oracle/conditional.h"
#include "properties/audits/known_target.h"
#include "properties/audits/matrix.h"

namespace draftproof::properties::audits {

/// Lives until the next start().
struct ContextLaw {
  std::uint64_t id = 0;               ///< of this context, never given twice
  std::vector<double> target, draft;  ///< draft: empty where it is not known

  /// Adds one token of this context; the second time on through prepared laws.
  void add(oracle::ConditionalEvidence& evidence, reference::Token token, double coin);

 private:
  friend class LawCache;
  std::vector<reference::Token> key_;
  std::unique_ptr<oracle::PreparedLaws> prepared_;
  bool was_used_ = false;
};

/// Walks along answers: start() at a case, behind() token by token. All cases are of one setting.
class LawCache {
 public:
  /// Keeps about `kept_bytes_max` of laws, and then forgets all of them.
  explicit LawCache(const KnownTarget& target, const KnownTarget* draft = nullptr,
                    std::size_t kept_bytes_max = std::size_t{1} << 29);

  ContextLaw& start(const AuditCase& audit_case);
  /// The context behind `token`. Precondition: an id of the law.
  ContextLaw& behind(const ContextLaw& context, reference::Token token);

  std::size_t vocab_size() const { return vocab_size_; }

 private:
  /// Of `emitted` behind the case's prompt.
  ContextLaw& find(std::vector<reference::Token> key);

  const KnownTarget& target_;
  const KnownTarget* draft_;
  std::size_t vocab_size_, kept_bytes_max_, kept_bytes_ = 0;
  std::uint64_t id_count_ = 0;
  const AuditCase* case_ = nullptr;
  int memory_ = -1;
  std::vector<reference::Token> emitted_;
  /// Keys of contexts with all their tokens begin with the case's place, others with -1.
  std::map<std::vector<reference::Token>, ContextLaw> contexts_;
  std::map<std::string, reference::Token> case_places_;
  std::unordered_map<std::uint64_t, ContextLaw*> steps_;  ///< by context and token
};

}  // namespace draftproof::properties::audits
