// Doctor. Goal: a right pair is ready, and each way in which two servers are not the pair that an
// audit needs, or lie, is said by name. Method: toy servers, right ones and wrong ones, and clients
// that change one thing of what a right server answers; a right pair has no complaint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "reference/error.h"
#include "tests/tools/changed_arm.h"
#include "tests/tools/schema.h"
#include "tests/tools/served_service.h"
#include "tools/audit/doctor.h"
#include "tools/audit/plan.h"
#include "tools/audit/toy_law.h"
#include "tools/engines/client.h"

namespace draftproof::tests {
namespace {

namespace audit = tools::audit;
using audit::DoctorReport, audit::Finding, audit::Standing;
using properties::Arm, properties::Completion, properties::SamplingRequest;
using testing::Contains, testing::HasSubstr;
using tools::engines::ArmClient, tools::engines::ArmFacts;

ToySettings toy(const std::string& name, bool is_speculative,
                const std::string& dialect = "llama.cpp") {
  ToySettings settings;
  settings.toy = name;
  settings.dialect = dialect;
  settings.is_speculative = is_speculative;
  return settings;
}

std::shared_ptr<ArmClient> client_of(const Served& served) {
  tools::engines::ClientOptions options;
  options.url = "http://127.0.0.1:" + std::to_string(served.port());
  return tools::engines::http_client(options);
}

audit::DoctorSettings settings_of(int vocab_size) {
  audit::DoctorSettings settings;
  settings.draw_count = 64;
  for (const properties::Prompt& prompt :
       {properties::Prompt{0, 1}, properties::Prompt{2}, properties::Prompt{0, 1, 0, 1, 0, 1}}) {
    SamplingRequest request;
    request.prompt = prompt;
    for (reference::Token& token : request.prompt) token %= vocab_size;
    settings.prompts.push_back(request);
  }
  return settings;
}

DoctorReport examined(const std::shared_ptr<ArmClient>& baseline,
                      const std::shared_ptr<ArmClient>& speculative,
                      const audit::DoctorSettings& settings) {
  return audit::examine({audit::patient_of(Arm::kBaseline, baseline, {}),
                         audit::patient_of(Arm::kSpeculative, speculative, {})},
                        settings);
}

const Finding* find(const DoctorReport& report, const std::string& subject,
                    const std::string& question) {
  for (const Finding& each : report.findings)
    if (each.subject == subject && each.question == question) return &each;
  return nullptr;
}

/// "standing: says", or "absent".
std::string answer(const DoctorReport& report, const std::string& subject,
                   const std::string& question) {
  const Finding* found = find(report, subject, question);
  return found == nullptr ? "absent" : std::string(to_string(found->standing)) + ": " + found->says;
}

std::string fallen(const DoctorReport& report) {
  std::string lines;
  for (const Finding& each : report.findings)
    if (each.standing == Standing::kFails)
      lines += each.subject + " " + each.question + ": " + each.says + "\n";
  return lines;
}

/// Both arms of a hashed toy, up once for all tests.
class DoctorPair : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    baseline_ = new Served(toy("hashed", false));
    speculative_ = new Served(toy("hashed", true));
  }
  static void TearDownTestSuite() {
    delete baseline_;
    delete speculative_;
  }
  std::shared_ptr<ArmClient> baseline() { return client_of(*baseline_); }
  std::shared_ptr<ArmClient> speculative() { return client_of(*speculative_); }
  std::shared_ptr<ChangedArm> changed() { return std::make_shared<ChangedArm>(speculative()); }

  static Served* baseline_;
  static Served* speculative_;
};
Served* DoctorPair::baseline_ = nullptr;
Served* DoctorPair::speculative_ = nullptr;

TEST_F(DoctorPair, IsReadyWhenItIsRight) {
  audit::DoctorSettings settings = settings_of(8);
  const audit::ToyLaw law = audit::toy_law("hashed", "llama.cpp", {}, "--toy");
  settings.target = law.target.get();
  const DoctorReport report = examined(baseline(), speculative(), settings);
  EXPECT_EQ(fallen(report), "");
  EXPECT_EQ(audit::exit_code_of(report), 0) << audit::page_of(report, audit::DoctorForm::kText);
  for (const auto& [subject, question] : std::vector<std::pair<std::string, std::string>>{
           {"baseline", "makes no drafts"},
           {"speculative", "makes drafts"},
           {"baseline", "obeys seeds"},
           {"speculative", "obeys seeds"},
           {"baseline", "repeats greedy answers"},
           {"baseline", "obeys top_k"},
           {"baseline", "its probabilities sum to one"},
           {"baseline", "its logprobs are of the kind it says"},
           {"baseline", "its logprobs are the toy's"},
           {"baseline", "has the law of the toy"},
           {"baseline", "has its own law once more (A/A)"},
           {"both", "serve one model"},
           {"both", "are one engine"}})
    EXPECT_THAT(answer(report, subject, question), testing::StartsWith("yes"))
        << subject << " " << question;
  EXPECT_TRUE(report.arms[0].tokens_per_second);
}

/// A server's counter of all tokens grows without any draft; one of drafts does not.
TEST_F(DoctorPair, IsToldApartByCountersOfDraftsAlone) {
  for (const auto& [name, standing] :
       std::map<std::string, std::string>{{"tokens", "yes"}, {"tokens_of_drafts", "NO"}}) {
    const auto counting = std::make_shared<ChangedArm>(baseline());
    counting->change_facts = [name, calls = 0](ArmFacts& facts) mutable {
      facts.counters = {{name, ++calls}};
    };
    const DoctorReport report = examined(counting, speculative(), settings_of(8));
    EXPECT_THAT(answer(report, "baseline", "makes no drafts"), testing::StartsWith(standing))
        << name;
  }
}

/// As openvino-genai 2026.4 does where a draft ends behind the cap: a finding, and no obstacle.
TEST_F(DoctorPair, ThatCountsWrongCanBeJudgedAllTheSame) {
  auto miscounting = changed();
  miscounting->change = [](const SamplingRequest&, Completion& completion) {
    if (completion.counters) completion.counters->emitted += 3;
  };
  const DoctorReport report = examined(baseline(), miscounting, settings_of(8));
  EXPECT_THAT(answer(report, "speculative", "answers what it is asked"),
              testing::StartsWith("yes"));
  EXPECT_THAT(answer(report, "speculative", "counts the tokens that it gives"),
              HasSubstr("it counts 15 tokens where 12 came"));
  EXPECT_EQ(audit::exit_code_of(report), 2);
}

TEST_F(DoctorPair, WithDraftsInBothArmsIsNotReady) {
  const DoctorReport report = examined(speculative(), speculative(), settings_of(8));
  EXPECT_THAT(answer(report, "baseline", "makes no drafts"), testing::StartsWith("NO"));
  EXPECT_EQ(audit::exit_code_of(report), 3);
}

TEST_F(DoctorPair, WithoutAnyDraftIsNotReady) {
  const DoctorReport report = examined(baseline(), baseline(), settings_of(8));
  EXPECT_THAT(answer(report, "speculative", "makes drafts"), testing::StartsWith("NO"));
  EXPECT_EQ(audit::exit_code_of(report), 3);
}

TEST_F(DoctorPair, OfTwoModelsIsToldApartWhateverTheDrafts) {
  Served other(toy("full-memory", false));
  Served markov(toy("markov", true));
  const DoctorReport report = examined(client_of(other), client_of(markov), settings_of(3));
  EXPECT_THAT(answer(report, "both", "serve one model"), testing::StartsWith("NO"));
  EXPECT_EQ(audit::exit_code_of(report), 3);
}

TEST_F(DoctorPair, OfTwoVocabulariesIsNotReady) {
  auto other = changed();
  other->change_facts = [](ArmFacts& facts) { facts.vocab_size = 7; };
  auto same = std::make_shared<ChangedArm>(baseline());
  same->change_facts = [](ArmFacts& facts) { facts.vocab_size = 8; };
  EXPECT_THAT(answer(examined(same, other, settings_of(8)), "both", "have one vocabulary"),
              testing::StartsWith("NO"));
}

TEST_F(DoctorPair, OfAnotherToyFailsItsControl) {
  // The hashed toy of eight tokens is no toy of three whose law depends on the last one.
  Served served(toy("full-memory", false));
  audit::DoctorSettings settings = settings_of(3);
  const audit::ToyLaw law = audit::toy_law("markov", "llama.cpp", {}, "--toy");
  settings.target = law.target.get();
  const DoctorReport report =
      audit::examine({audit::patient_of(Arm::kBaseline, client_of(served), {})}, settings);
  EXPECT_THAT(answer(report, "baseline", "has the law of the toy"), testing::StartsWith("NO"));
  EXPECT_THAT(answer(report, "baseline", "its logprobs are the toy's"), testing::StartsWith("NO"));
  EXPECT_EQ(audit::exit_code_of(report), 3);
}

TEST_F(DoctorPair, IsToldWhichServerLies) {
  using Change = std::function<void(ChangedArm&)>;
  const std::vector<std::tuple<std::string, Change, int>> lies = {
      {"answers what it is asked",
       [](ChangedArm& arm) {
         arm.change = [](const SamplingRequest&, Completion& done) { done.token_ids.back() = -5; };
       },
       3},
      {"answers what it is asked",
       [](ChangedArm& arm) {
         arm.change = [](const SamplingRequest&, Completion& done) {
           done.token_ids.insert(done.token_ids.end(), 40, 1);
         };
       },
       3},
      {"answers what it is asked",
       [](ChangedArm& arm) {
         arm.change = [](const SamplingRequest&, Completion& done) {
           done.end = properties::CompletionEnd::kFailed;
           done.failure = "HTTP 500";
         };
       },
       3},
      {"draws at temperature 1",
       [](ChangedArm& arm) {
         arm.forget = [](SamplingRequest request) {
           request.sampling.temperature = 0;
           return request;
         };
       },
       3},
      {"obeys top_k",
       [](ChangedArm& arm) {
         arm.forget = [](SamplingRequest request) {
           request.sampling.top_k = 0;
           if (request.sampling.temperature == 1.5) request.sampling.temperature = 20;
           return request;
         };
       },
       2},
      {"its probabilities sum to one",
       [](ChangedArm& arm) {
         arm.change = [](const SamplingRequest&, Completion& done) {
           for (auto& position : done.top_logprobs)
             for (auto& each : position) each.logprob += 0.5;
         };
       },
       2},
      {"keeps to the target's law by its own words",
       [](ChangedArm& arm) {
         arm.change_facts = [](ArmFacts& facts) { facts.lossy_mode = "synthetic acceptance"; };
       },
       2},
  };
  for (const auto& [question, lie, code] : lies) {
    auto arm = changed();
    lie(*arm);
    const DoctorReport report =
        audit::examine({audit::patient_of(Arm::kSpeculative, arm, {})}, settings_of(8));
    EXPECT_THAT(answer(report, "speculative", question), testing::StartsWith("NO")) << question;
    EXPECT_GE(audit::exit_code_of(report), code) << question;
  }
}

TEST_F(DoctorPair, IsToldOfSeedsThatDoNotRepeat) {
  auto arm = changed();
  arm->forget = [](SamplingRequest request) {
    request.seed.reset();
    return request;
  };
  const DoctorReport report =
      audit::examine({audit::patient_of(Arm::kSpeculative, arm, {})}, settings_of(8));
  EXPECT_THAT(answer(report, "speculative", "obeys seeds"), testing::StartsWith("limited"));
  EXPECT_THAT(report.cannot_audit, Contains(HasSubstr("same-seed identity")));
}

TEST_F(DoctorPair, TellsWhenALossyModeIsDeclared) {
  auto arm = changed();
  arm->change_facts = [](ArmFacts& facts) { facts.lossy_mode = "synthetic acceptance"; };
  audit::DoctorSettings settings = settings_of(8);
  settings.declared_lossy = "synthetic acceptance";
  const DoctorReport report =
      audit::examine({audit::patient_of(Arm::kSpeculative, arm, {})}, settings);
  EXPECT_THAT(answer(report, "speculative", "keeps to the target's law by its own words"),
              testing::StartsWith("limited"));
}

TEST_F(DoctorPair, IsNotReadyWhenEverythingIsRefused) {
  auto arm = changed();
  arm->change = [](const SamplingRequest&, Completion&) {
    throw Error(ErrorKind::kInput, "no token of this model spells it", "prompt");
  };
  const DoctorReport report =
      audit::examine({audit::patient_of(Arm::kSpeculative, arm, {})}, settings_of(8));
  EXPECT_THAT(answer(report, "speculative", "answers what it is asked"),
              testing::StartsWith("not known"));
  EXPECT_EQ(audit::exit_code_of(report), 2);
}

TEST_F(DoctorPair, SaysWhenAServerDies) {
  auto arm = changed();
  int count = 0;
  arm->change = [&count](const SamplingRequest&, Completion&) {
    if (++count > 30) throw Error(ErrorKind::kEnvironment, "connection refused", "http://x:1");
  };
  audit::DoctorSettings settings = settings_of(8);
  settings.concurrency = 1;
  const DoctorReport report =
      audit::examine({audit::patient_of(Arm::kSpeculative, arm, {})}, settings);
  EXPECT_THAT(answer(report, "speculative", "stays up"), HasSubstr("connection refused"));
  EXPECT_EQ(audit::exit_code_of(report), 3);
}

TEST_F(DoctorPair, KnowsProcessedLogprobsFromRawOnes) {
  auto arm = changed();
  arm->change = [](const SamplingRequest& request, Completion& done) {
    // As a server would that reports what it drew from.
    for (auto& position : done.top_logprobs) {
      double sum = 0;
      for (auto& each : position) {
        each.logprob /= request.sampling.temperature > 0 ? request.sampling.temperature : 1;
        sum += std::exp(each.logprob);
      }
      for (auto& each : position) each.logprob -= std::log(sum);
    }
  };
  const DoctorReport report =
      audit::examine({audit::patient_of(Arm::kSpeculative, arm, {})}, settings_of(8));
  const std::string question = "its logprobs are of the kind it says";
  EXPECT_THAT(answer(report, "speculative", question), HasSubstr("processed"));
  EXPECT_EQ(report.arms[0].capabilities.logprobs, properties::LogprobKind::kProcessed);
}

TEST_F(DoctorPair, ScoresPromptsOfEnginesThatCan) {
  Served served(toy("hashed", false, "vllm"));
  const auto settings = settings_of(8);
  const auto right = std::make_shared<ChangedArm>(client_of(served));
  EXPECT_THAT(answer(audit::examine({audit::patient_of(Arm::kBaseline, right, {})}, settings),
                     "baseline", "scores prompts"),
              testing::StartsWith("yes"));
  const auto wrong = std::make_shared<ChangedArm>(client_of(served));
  wrong->change_scores = [](auto& scores) {
    for (auto& position : scores)
      for (auto& each : position) each.logprob = -each.logprob;
  };
  EXPECT_THAT(answer(audit::examine({audit::patient_of(Arm::kBaseline, wrong, {})}, settings),
                     "baseline", "scores prompts"),
              testing::Not(testing::StartsWith("yes")));
}

TEST_F(DoctorPair, IsReadyInTheWordsOfOtherEngines) {
  for (const std::string dialect : {"vllm", "sglang"}) {
    Served one(toy("hashed", false, dialect));
    Served other(toy("hashed", true, dialect));
    const DoctorReport report = examined(client_of(one), client_of(other), settings_of(8));
    EXPECT_EQ(fallen(report), "") << dialect;
    EXPECT_EQ(audit::exit_code_of(report), 0) << audit::page_of(report, audit::DoctorForm::kText);
  }
}

TEST_F(DoctorPair, IsKeptForPlansOfTheSameAddresses) {
  audit::ArmConfig given;
  given.client.url = "http://127.0.0.1:" + std::to_string(speculative_->port());
  given.deployment = {{"dtype", "f32"}};
  const DoctorReport report =
      audit::examine({audit::patient_of(Arm::kSpeculative, speculative(), given)}, settings_of(8));
  const std::string page = audit::page_of(report, audit::DoctorForm::kJson);
  EXPECT_EQ(can_validate() ? schema_complaint("doctor.schema.json", page) : "", "");
  const auto folder =
      std::filesystem::temp_directory_path() / ("draftproof-doctor-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "doctor.json") << page;
  audit::AuditConfig config;
  config.report_dir = folder.string();
  config.speculative = given;
  const audit::PlanGround ground = audit::assumed_ground(config);
  EXPECT_DOUBLE_EQ(ground.tokens_per_second, *report.arms[0].tokens_per_second);
  EXPECT_EQ(ground.speculative.vocab_size, 8);
  // One server alone that was examined later takes nothing of what was shown of the pair.
  const auto alone = audit::doctor_file(folder, false);
  ASSERT_NE(alone, audit::doctor_file(folder, true));
  std::filesystem::copy_file(folder / "doctor.json", alone);
  EXPECT_THAT(audit::assumed_ground(config).rate_source, HasSubstr("/doctor.json"));
  std::filesystem::remove(folder / "doctor.json");
  EXPECT_THAT(audit::assumed_ground(config).rate_source, HasSubstr("doctor-one.json"));
  config.speculative.client.url = "http://127.0.0.1:1";
  EXPECT_THAT(audit::assumed_ground(config).rate_source, HasSubstr("assumed"));
  std::ofstream(folder / "doctor.json") << "{}";
  EXPECT_TRUE(audit::read_doctor_record(folder / "doctor.json").empty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace draftproof::tests
