// Bad input, end to end. Goal: exit 3, nothing on stdout, one line on stderr with place and remedy,
// for everything a user can name wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/end_to_end/command.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;

struct BadInput {
  std::string name;
  std::vector<std::string> arguments;  ///< "{}" is a folder with the files below
  std::string place;                   ///< must be in the line
  std::string remedy;                  ///< must be in the line
};

std::ostream& operator<<(std::ostream& out, const BadInput& input) { return out << input.name; }

std::vector<BadInput> bad_checks() {
  return {
      {"UnknownCommand", {"chek"}, "draftproof: The following", "draftproof --help"},
      {"UnknownFlag",
       {"check", "--sujbect", "kernels"},
       "draftproof: check: ",
       "draftproof check --help"},
      {"UnknownProperty", {"check", "no_such_property"}, "no_such_property", "known"},
      {"UnknownSubject", {"check", "--subject", "kernel"}, "--subject: ", "mutant:NAME"},
      {"UnknownMutant",
       {"check", "--subject", "mutant:x"},
       "--subject: ",
       "draftproof list mutants"},
      {"UnknownRule", {"check", "--subject", "reference", "--rule", "tree"}, "--rule: ", "chain"},
      {"UnknownDevice", {"check", "--device", "tpu"}, "--device", "cuda"},
      {"DeviceForASubjectOfTheCpu",
       {"check", "--subject", "reference", "--device", "cuda"},
       "--device cuda: ",
       "leave --device out"},
      {"UnknownBattery", {"check", "--battery", "huge"}, "--battery", "smoke"},
      {"MalformedSeed", {"check", "--seed", "seven"}, "--seed: ", "number"},
      {"NegativeSeed", {"check", "--seed", "-1"}, "--seed: ", "number"},
      {"DurationWithoutUnit", {"check", "--time-limit", "90"}, "--time-limit: ", "90s"},
      {"UnknownReport",
       {"check", "--subject", "reference", "--report", "pdf"},
       "--report: ",
       "junit"},
      {"FalseAlarmsOfMoreThanOne", {"check", "--false-alarms", "2"}, "--false-alarms", "--help"},
      {"QuietAndVerbose", {"check", "-q", "-v"}, "-q", "--help"},
      {"KernelBesidesSubject",
       {"check", "--subject", "reference", "--kernel", "{}/chain.ptx"},
       "--kernel and --subject: ",
       "leave one"},
      {"MissingKernel",
       {"check", "--kernel", "{}/absent.ptx"},
       "absent.ptx: no such file",
       "check"},
      {"MissingCard", {"check", "--kernel", "{}/absent.toml"}, "absent.toml: no such file", "path"},
      {"MalformedCard", {"check", "--kernel", "{}/bad.toml"}, "bad.toml:2", ""},
      {"MalformedKernel", {"check", "--kernel", "{}/chain.ptx"}, "chain.ptx:", ""},
      {"FilterThatSelectsNothing",
       {"check", "kernel_equals_reference", "--subject", "mutant:exact_match"},
       "the filter: selects no check",
       "draftproof list properties"},
  };
}

std::vector<BadInput> bad_files_and_names() {
  return {
      {"MissingCase", {"replay", "{}/absent.json"}, "absent.json: no such file", "path"},
      {"UnknownCaseId", {"replay", "0123456789ab"}, "replay: ", "--report-dir"},
      {"MalformedCase", {"replay", "{}/bad.json"}, "bad.json", ""},
      {"CaseOfAnUnknownProperty", {"replay", "{}/other.json"}, "other.json", ""},
      {"MissingPtx", {"inspect", "{}/absent.ptx"}, "absent.ptx: no such file", "path"},
      {"MalformedPtx", {"inspect", "{}/bad.ptx"}, "bad.ptx:3", ""},
      {"FolderForAFile", {"inspect", "{}"}, "is a folder", "name a file"},
      {"UnknownCatalog", {"list", "bugs"}, "list: ", "mutants"},
      {"UnknownBug", {"demo", "--bug", "x"}, "--bug: ", "draftproof list mutants"},
      {"ControlForABug", {"demo", "--bug", "exact_match"}, "--bug: ", "name a mutant"},
  };
}

std::vector<BadInput> bad_laws() {
  return {
      {"LawThatDoesNotSum",
       {"law", "--target", ".1,.3", "--draft", ".5,.5"},
       "--target: probabilities sum to 2/5",
       "not to 1"},
      {"LawsOfTwoSizes",
       {"law", "--target", ".5,.5", "--draft", ".2,.3,.5"},
       "--draft: 3 tokens",
       "same vocabulary"},
      {"NegativeProbability",
       {"law", "--target", "1.5,-.5", "--draft", ".5,.5"},
       "--target: ",
       "negative"},
      {"MalformedNumber", {"law", "--target", ".1,.x", "--draft", ".5,.5"}, "--target: '.x'", ".3"},
      {"EmptyVocabulary", {"law", "--target", "", "--draft", ""}, "--target: no token", ".1,.3,.6"},
      {"NegativeLength",
       {"law", "--target", "1", "--draft", "1", "--length", "-1"},
       "--length: -1",
       "0 or more"},
      {"LengthThatWouldNeverEnd",
       {"law", "--target", ".5,.5", "--draft", ".5,.5", "--length", "60"},
       "--length: ",
       "shorten"},
      {"TooFewRows",
       {"law", "--target", ".5,.5;1,0", "--draft", ".5,.5", "--length", "3"},
       "--target: 2 rows",
       "or 4"},
      {"UnknownLawRule",
       {"law", "--target", "1", "--draft", "1", "--rule", "blok"},
       "blok",
       "chain"},
      {"UnknownPreset",
       {"law", "--target", "1,2", "--draft", "1,2", "--top-k", "1", "--preset", "x"},
       "x",
       "vllm"},
  };
}

/// A law with these options instead of the usual two rows' none.
std::vector<std::string> rows_with(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"law", "--target", ".1,.3,.6", "--draft", ".7,.2,.1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<BadInput> laws_of_options_that_do_not_meet() {
  return {
      {"SiblingsOfAChain", rows_with({"--siblings", "largest"}), "--siblings: ", "add --tree"},
      {"LengthOfATree", rows_with({"--rule", "k-seq", "--tree", "2", "--length", "2"}),
       "--length: ", "leave it out"},
      {"StepsOfATree", rows_with({"--rule", "k-seq", "--tree", "2", "--steps"}),
       "--steps: ", "leave it out"},
      {"DraftBesideAToy", {"law", "--toy", "markov", "--draft", "1"}, "--draft: ", "leave it out"},
      {"ShapingOfAMethod",
       {"law", "--method", "eagle", "--temperature", "2"},
       "--temperature: ",
       "leave it out"},
      {"SiblingsOfAMethod",
       {"law", "--method", "eagle", "--siblings", "largest"},
       "--siblings: ",
       "leave it out"},
      {"MaskOfIterations", rows_with({"--iterations", "2", "--mask", "1"}), "--mask: ", "leave it"},
      {"RuleOfAContract",
       {"law", "--target", "1,2", "--mask", "1", "--rule", "block"},
       "--rule: ",
       "leave it out"},
      {"FaultsAsJson", rows_with({"--faults", "-o", "json"}), "--output: ", "leave it out"},
      {"FaultsOfARule", rows_with({"--faults", "--rule", "block"}), "--rule: ", "leave it out"},
      {"FaultsOfNoDraft", rows_with({"--faults", "--length", "0"}), "--length: ", "1 or more"},
      {"EndWithoutTokens", rows_with({"--eos", "1"}), "--tokens: ", "how many"},
      {"OptionThatDividesByZero", rows_with({"--rule", "typical", "--rule-option", "cap=1/0"}),
       "--rule-option: ", "write .3"},
      {"OptionGivenTwice",
       rows_with({"--rule", "typical", "--rule-option", "cap=1", "--rule-option", "cap=1/2"}),
       "--rule-option: ", "keep one"},
      {"ChainRuleOfAMethodOfTrees",
       {"law", "--method", "eagle", "--rule", "chain"},
       "--rule: ",
       "leave it out"},
      {"SiblingsThatTheRuleIsNotRightFor",
       {"law", "--method", "eagle", "--rule", "with-replacement"},
       "--rule: ",
       "without-replacement"},
      {"ToyOfNoTable", {"table", "rules", "--toy", "x"}, "--toy: ", "full-memory"},
  };
}

std::vector<BadInput> bad_speeds() {
  return {
      {"ConfidenceThatIsNoNumber",
       {"speed", "{}/bad.json", "--confidence", "nan"},
       "--confidence: ",
       "from 0.5"},
      {"FalseAlarmsThatAreNoNumber",
       {"check", "--false-alarms", "nan", "--subject", "reference"},
       "--false-alarms: ",
       "up to 0.5"},
      {"BatchesWithoutAMap", {"speed", "{}/bad.json", "--batches", "4"}, "--batches: ", "--map"},
      {"TileOfExamples", {"speed", "--examples", "--tile", "4"}, "--tile: ", "leave it out"},
      {"TraceThatIsNone", {"speed", "{}/bad.json"}, "bad.json:1", "JSON"},
      {"ProfileOfNobody",
       {"profile", "--pipeline", "nobody"},
       "--pipeline: ",
       "take parts of these names"},
      {"ProfileOfANegativeSeed", {"profile", "--seed", "-1"}, "--seed: ", "from 0 to 2^64 - 1"},
      {"ProfileIntoAFolder", {"profile", "--write", "."}, "--write: ", "name a file"},
      {"ProfileIntoNothing", {"profile", "--write", ""}, "--write: ", "name a file"},
      {"ProfileBelowAFile",
       {"profile", "--write", "{}/bad.json/cost.json"},
       "--write: ",
       "Not a directory; name a file in a folder of yours"},
      {"PatchThatAFamilyJudges",
       {"check", "--subject", "mutant:kv_length_reset"},
       "fixtures/mutants/kernels/kv",
       "ctest --test-dir build -R"},
  };
}

std::vector<BadInput> bad_explorations() {
  return {
      {"UnknownWorld", {"explore", "--world", "flat"}, "flat", "pages-1"},
      {"UnknownFault",
       {"explore", "--bug", "nope"},
       "--bug: \"nope\"",
       "draftproof list state-faults"},
      {"UnknownSize", {"explore", "--size", "huge"}, "--size", "small"},
      {"NoAction", {"explore", "--depth", "0"}, "--depth", "--help"},
      {"SoakOfNoToken", {"explore", "--soak", "0"}, "--soak", "--help"},
      {"SoakOfASize", {"explore", "--soak", "9", "--size", "large"}, "--size", "--help"},
      {"SoakToADepth", {"explore", "--soak", "9", "--depth", "2"}, "--depth", "--help"},
      {"SoakOfAWorld", {"explore", "--soak", "9", "--world", "eos"}, "--world", "--help"},
      {"SoakOfAFault", {"explore", "--soak", "9", "--bug", "x"}, "--bug", "--help"},
      {"FaultOfAWorld", {"explore", "--bug", "x", "--world", "eos"}, "--bug", "--help"},
      {"SeedWithoutASoak", {"explore", "--seed", "2"}, "--seed", "--soak"},
  };
}

std::vector<BadInput> laws_too_large() {
  return {
      {"DraftOfAToy",
       {"law", "--toy", "full-memory", "--length", "20"},
       "--length: ",
       "10 drafted tokens would work"},
      {"DraftOfMoreTokensThanAWalkHas",
       {"law", "--toy", "full-memory", "--length", "1000000"},
       "--length: ",
       "shorten"},
      {"Iterations",
       {"law", "--toy", "full-memory", "--length", "2", "--iterations", "2000000000"},
       "--iterations: ",
       "3 iterations would work"},
      {"Tokens", rows_with({"--tokens", "12"}), "--tokens: ", "11 tokens would work"},
      {"TokensOfAVocabularyOfOne",
       {"law", "--target", "1", "--draft", "1", "--tokens", "1000000"},
       "--tokens: ",
       "1000 tokens would work"},
      {"WalkBeyondItsTime",
       rows_with({"--rule", "target-only", "--tree", "64", "--time-limit", "0.1s"}),
       "--tree: ", "would work, or a longer --time-limit"},
  };
}

class BadInputs : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputs, EndsWithOneLineThatNamesPlaceAndRemedy) {
  const TemporaryFolder folder;
  folder.write("bad.ptx", ".version 9.0\n.target sm_80\n.address_size sixty\n");
  folder.write("chain.ptx", "no PTX at all\n");
  folder.write("bad.toml", "[card]\nversion = = 1\n");
  folder.write("bad.json", "{\"schema\": \n");
  folder.write("other.json",
               "{\"schema\":\"draftproof/case/1\",\"property\":\"no_such_property\"}");
  std::vector<std::string> arguments = GetParam().arguments;
  for (std::string& word : arguments) {
    const std::size_t at = word.find("{}");
    if (at != std::string::npos) word.replace(at, 2, folder.path());
  }
  const CommandResult result = draftproof(arguments);
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(lines_in(result.err), 1u) << result.err;
  EXPECT_THAT(result.err, HasSubstr(GetParam().place));
  EXPECT_THAT(result.err, HasSubstr(GetParam().remedy));
}

const auto kName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Checks, BadInputs, testing::ValuesIn(bad_checks()), kName);
INSTANTIATE_TEST_SUITE_P(Files, BadInputs, testing::ValuesIn(bad_files_and_names()), kName);
INSTANTIATE_TEST_SUITE_P(Laws, BadInputs, testing::ValuesIn(bad_laws()), kName);
INSTANTIATE_TEST_SUITE_P(Options, BadInputs, testing::ValuesIn(laws_of_options_that_do_not_meet()),
                         kName);
INSTANTIATE_TEST_SUITE_P(Speeds, BadInputs, testing::ValuesIn(bad_speeds()), kName);
INSTANTIATE_TEST_SUITE_P(Explorations, BadInputs, testing::ValuesIn(bad_explorations()), kName);
INSTANTIATE_TEST_SUITE_P(Sizes, BadInputs, testing::ValuesIn(laws_too_large()), kName);

TEST(BadInput, NamesTheRemedyForADeviceThatIsNotThere) {
  if (::access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "this machine has a GPU";
  const CommandResult result = draftproof({"check", "--device", "cuda"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(lines_in(result.err), 1u) << result.err;
  EXPECT_THAT(result.err, HasSubstr("emulator"));
}

TEST(BadInput, IsToldWhenTheResultCannotBeWritten) {
  const TemporaryFolder folder;
  // A full disk in the place of stdout.
  const std::string script = folder.write(
      "run.sh", std::string("exec '") + DRAFTPROOF_EXECUTABLE + "' list claims >/dev/full");
  EXPECT_EQ(WEXITSTATUS(std::system(("sh " + script + " 2>/dev/null").c_str())), 3);
}

}  // namespace
}  // namespace draftproof::tests
