// Arms that are processes: started, found ready, watched, ended with all that they started; and
// programs that speak lines, right and wrong ones.
#include "tools/engines/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "reference/error.h"
#include "tools/engines/child_process.h"
#include "tools/engines/runner_programs.h"

namespace draftproof::tools::engines {
namespace {

namespace fs = std::filesystem;
using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

fs::path folder() {
  const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
  const fs::path path = fs::path(testing::TempDir()) /
                        (std::string("runner_") + info.name() + std::to_string(getpid()));
  fs::create_directories(path);
  return path;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

bool becomes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// A process that has ended and was not waited for is over as well.
bool is_running(int process) {
  const std::string status = text_of("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name = status.rfind(')');
  return name != std::string::npos && status[name + 2] != 'Z';
}

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return (error.kind() == ErrorKind::kInput ? "input: " : "environment: ") +
           std::string(error.what());
  }
  return "no error";
}

/// Listens on a port; a grandchild in a session of its own, and the server itself, hear no SIGTERM.
constexpr const char* kStubborn = R"(
import os, signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    time.sleep(300)
with open(sys.argv[2], "w") as stream:
    stream.write(str(os.getpid()))
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("serves", flush=True)
time.sleep(300)
)";

ProcessOptions stubborn(const fs::path& folder) {
  write(folder / "stubborn.py", kStubborn);
  ProcessOptions options;
  options.command = "python3 " + (folder / "stubborn.py").string() + " {port} " +
                    (folder / "pid").string() + " & wait";
  options.log = folder / "arm.log";
  options.stop_timeout_s = 0.2;
  return options;
}

int pid_in(const fs::path& folder) { return std::atoi(text_of(folder / "pid").c_str()); }

std::vector<int> with_children(int process) {
  std::vector<int> all = {process};
  const std::string name = std::to_string(process);
  std::ifstream stream("/proc/" + name + "/task/" + name + "/children");
  for (int child = 0; stream >> child;) all.push_back(child);
  return all;
}

TEST(ArmProcess, StopsWhatHearsNoSignalAndWhatItStartedInASessionOfItsOwn) {
  const fs::path place = folder();
  ArmProcess arm(stubborn(place));
  EXPECT_EQ(arm.ending(), "");
  const std::vector<int> processes = with_children(pid_in(place));
  ASSERT_EQ(processes.size(), 2U);
  for (const int each : processes) EXPECT_TRUE(is_running(each));
  arm.stop();
  for (const int each : processes) EXPECT_FALSE(is_running(each));
  EXPECT_THAT(text_of(place / "arm.log"), HasSubstr("serves"));
}

TEST(ArmProcess, LeavesNothingBehindWhenWeAreKilled) {
  const fs::path place = folder();
  const pid_t us = fork();
  if (us == 0) {
    ArmProcess* const arm = new ArmProcess(stubborn(place));
    write(place / "started", arm->ending());
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(us, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  ASSERT_TRUE(fs::exists(place / "started"));
  EXPECT_TRUE(becomes_true([&] { return !is_running(pid_in(place)); }));
}

TEST(ArmProcess, OutlivesTheThreadThatStartedIt) {
  const fs::path place = folder();
  std::unique_ptr<ArmProcess> arm;
  std::thread([&] { arm = std::make_unique<ArmProcess>(stubborn(place)); }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(arm->ending(), "");
  EXPECT_TRUE(is_running(pid_in(place)));
}

TEST(ArmProcess, IsReadyWhenItsUrlAnswers) {
  const fs::path place = folder();
  write(place / "health", "ok");
  ProcessOptions options;
  options.command = "exec python3 -m http.server --bind 127.0.0.1 -d " + place.string() +
                    " {port}; echo $GREETING";
  options.ready_url = "http://127.0.0.1:{port}/health";
  options.log = place / "logs" / "arm.log";
  ArmProcess arm(options);
  EXPECT_GT(arm.port(), 0);
  options.command = "exec true {port}";
  options.ready_url = "http://127.0.0.1:" + std::to_string(arm.port()) + "/missing";
  options.ready_timeout_s = 0.3;
  options.command = "sleep 300";
  EXPECT_THAT(error_of([&] { ArmProcess other(options); }), HasSubstr("is taken already"));
}

TEST(ArmProcess, SaysWhyItIsNotReady) {
  const fs::path place = folder();
  ProcessOptions options;
  options.log = place / "arm.log";
  options.environment = {{"CAUSE", "no such model"}};
  options.command = "echo $CAUSE on {port}; exit 7";
  EXPECT_THAT(error_of([&] { ArmProcess arm(options); }),
              testing::AllOf(HasSubstr("environment: "), HasSubstr("exit code 7"),
                             HasSubstr("\nno such model on ")));
  options.command = "echo another; kill -9 $$; echo {port}";
  EXPECT_THAT(error_of([&] { ArmProcess arm(options); }),
              testing::AllOf(HasSubstr("signal 9"), HasSubstr("\nanother"),
                             Not(HasSubstr("no such model"))));
  options.command = "sleep 300; : {port}";
  options.ready_timeout_s = 0.1;
  EXPECT_THAT(error_of([&] { ArmProcess arm(options); }), HasSubstr("does not serve after"));
  options.command = "sleep 300";
  EXPECT_THAT(error_of([&] { ArmProcess arm(options); }), HasSubstr("input: "));
  options.ready_url = "https://127.0.0.1/x";
  EXPECT_THAT(error_of([&] { ArmProcess arm(options); }), HasSubstr("should be http://"));
}

TEST(ArmProcess, TellsOfADeathLater) {
  const fs::path place = folder();
  ArmProcess arm(stubborn(place));
  for (const int each : with_children(pid_in(place))) kill(each, SIGKILL);
  ASSERT_TRUE(becomes_true([&] { return !arm.ending().empty(); }));
  EXPECT_THAT(arm.ending(), HasSubstr("its log ends with:\nserves"));
}

/// A right program: tokens are the seed's digits, and fields are what the client is to read.
constexpr const char* kRight = R"(
from draftproof_lines import Lines, Refused, logprob_entry
lines = Lines()
print("a stray print of an engine's")
told = {"count": 0}
def complete(request):
    told["count"] += 1
    request.refuse_unless_off("bad_words")
    if request.max_tokens == 13:
        raise ValueError("thirteen\nis too many")
    tokens = [int(digit) for digit in str(request.seed)][:request.max_tokens]
    return {
        "token_ids": tokens, "end": "stop" if request.stop_token_ids else "length",
        "counters": {"drafted": 3, "accepted": 1, "emitted": len(tokens)},
        "steps": [{"draft_ids": [1, 2, 3], "accepted": 1}],
        "logprobs": [logprob_entry(t, float("-inf"), "raw", [(t, -0.5)]) for t in tokens],
    }
lines.serve(
    lambda: {"engine": "right", "version": "1", "model": "m", "vocab_size": 10,
             "is_speculative": True, "counters": {"count": told["count"]}},
    {"takes_seed": True, "reports_counters": True, "logprobs": "raw"}, complete,
    score=lambda tokens, count: [logprob_entry(t, -1, "raw", [(t, -1)] * count) for t in tokens],
    tokenize=lambda text: [ord(letter) for letter in text],
    detokenize=lambda ids: "".join(map(chr, ids)),
)
)";

LineClientOptions program(const fs::path& folder, const std::string& text) {
  runner_command("transformers", {}, folder);  // brings draftproof_lines.py
  write(folder / "program.py", text);
  LineClientOptions options;
  options.command = "exec python3 " + (folder / "program.py").string();
  options.log = folder / "program.log";
  return options;
}

SamplingRequest seeded(std::uint64_t seed) {
  SamplingRequest request;
  request.prompt = {1, 2};
  request.seed = seed;
  return request;
}

TEST(LineClient, CarriesRequestsAndAnswers) {
  const fs::path place = folder();
  const auto client = line_client(program(place, kRight));
  EXPECT_EQ(client->capabilities().name, "right 1, m");
  EXPECT_EQ(client->capabilities().vocab_size, 10);
  EXPECT_EQ(client->capabilities().logprobs, properties::LogprobKind::kRaw);
  EXPECT_TRUE(client->capabilities().takes_seed);
  SamplingRequest request = seeded(31415);
  request.max_tokens = 4;
  request.stop_token_ids = {3};
  const Completion completion = client->complete(request);
  EXPECT_THAT(completion.token_ids, ElementsAre(3, 1, 4, 1));
  EXPECT_EQ(completion.end, CompletionEnd::kStop);
  EXPECT_EQ(completion.counters, (properties::DraftCounters{3, 1, 4}));
  EXPECT_THAT(completion.steps.at(0).draft_ids, ElementsAre(1, 2, 3));
  EXPECT_EQ(completion.logprobs.at(3), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(completion.top_logprobs.at(2), (std::vector<properties::TokenLogprob>{{4, -0.5}}));
  ASSERT_TRUE(completion.timing);
  EXPECT_LE(completion.timing->sent, completion.timing->ended);
  EXPECT_EQ(client->facts().counters.at("count"), 1);
  EXPECT_EQ(client->score({4, 5, 6}, 2).at(1).size(), 2U);
  EXPECT_THAT(client->tokenize("ab"), testing::Optional(ElementsAre(97, 98)));
  EXPECT_THAT(client->detokenize({99}), testing::Optional(std::string("c")));
  EXPECT_THAT(text_of(place / "program.log"), HasSubstr("a stray print"));
}

TEST(LineClient, SaysWhatTheEngineRefusedAndWhereItFailed) {
  const auto client = line_client(program(folder(), kRight));
  SamplingRequest request = seeded(1);
  request.adjustments.bad_words = {{1}};
  EXPECT_THAT(error_of([&] { client->complete(request); }), HasSubstr("input: bad_words: "));
  request = seeded(1);
  request.max_tokens = 13;
  const Completion completion = client->complete(request);
  EXPECT_EQ(completion.end, CompletionEnd::kFailed);
  EXPECT_EQ(completion.failure, "ValueError: thirteen is too many");
  EXPECT_EQ(completion.failure_cause, properties::FailureCause::kEngine);
  EXPECT_THAT(client->complete(seeded(27)).token_ids, ElementsAre(2, 7));
}

TEST(LineClient, GivesEachThreadItsOwnAnswer) {
  const auto client = line_client(program(folder(), kRight));
  std::vector<std::thread> threads;
  std::vector<Completion> completions(8);
  for (std::size_t i = 0; i < completions.size(); ++i)
    threads.emplace_back([&, i] { completions[i] = client->complete(seeded(i)); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < completions.size(); ++i)
    EXPECT_THAT(completions[i].token_ids, ElementsAre(i));
  const auto together = client->complete_together({seeded(7), seeded(5)});
  EXPECT_THAT(together.at(1).token_ids, ElementsAre(5));
}

/// What comes behind a hello.
std::string faulty(const std::string& rest) {
  return R"(
import sys, time, json
print(json.dumps({"runner": "draftproof/runner/1", "facts": {"engine": "faulty"}}), flush=True)
line = json.loads(sys.stdin.readline())
def say(value):
    print(json.dumps(value), flush=True)
)" + rest +
         "\n";
}

std::string error_of_program(const std::string& text, double timeout_s = 60) {
  return error_of([&] {
    LineClientOptions options = program(folder(), text);
    options.answer_timeout_s = options.ready_timeout_s = timeout_s;
    line_client(options)->complete(seeded(1));
  });
}

TEST(LineClient, NamesWhatIsWrongWithAProgram) {
  EXPECT_THAT(error_of_program("raise SystemExit('no module named torch')"),
              testing::AllOf(HasSubstr("exit code 1"), HasSubstr("no module named torch")));
  EXPECT_THAT(error_of_program("print('hello')"), HasSubstr("its first line is no hello: 'hello'"));
  EXPECT_THAT(error_of_program("print('{\"runner\": \"other/2\"}')"),
              HasSubstr("speaks another protocol"));
  EXPECT_THAT(error_of_program("import time; time.sleep(300)", 0.2), HasSubstr("said nothing in"));
  EXPECT_THAT(error_of_program(faulty("print('Segmentation fault', file=sys.stderr); exit(3)")),
              testing::AllOf(HasSubstr("exit code 3"), HasSubstr("Segmentation fault")));
  EXPECT_THAT(error_of_program(faulty("print('garbage', flush=True); time.sleep(300)")),
              HasSubstr("gave a line that is no answer: 'garbage'"));
  EXPECT_THAT(error_of_program(faulty("say({'id': 1, 'token_ids': [1.5], 'end': 'length'})")),
              HasSubstr("token_ids"));
  EXPECT_THAT(error_of_program(faulty("say({'id': 1, 'seed': 2, 'end': 'length'})")),
              HasSubstr("'seed' is no field of an answer"));
}

TEST(LineClient, CountsARequestWithoutAnAnswerAsFailed) {
  LineClientOptions options = program(folder(), faulty("time.sleep(300)"));
  options.answer_timeout_s = 0.2;
  const auto client = line_client(options);
  const Completion completion = client->complete(seeded(1));
  EXPECT_EQ(completion.end, CompletionEnd::kFailed);
  EXPECT_THAT(completion.failure, HasSubstr("no answer in 0.2"));
  EXPECT_EQ(completion.failure_cause, properties::FailureCause::kTransport);
  EXPECT_THAT(error_of([&] { client->complete(seeded(2)); }), HasSubstr("did not answer"));
}

TEST(Runners, AreEmbeddedAsTheyLieInTheSourceTree) {
  const fs::path source = fs::path(DRAFTPROOF_SOURCE_DIR) / "tools/engines/runners";
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(source))
    if (entry.path().extension() == ".py") ++count;
  EXPECT_EQ(runner_programs().size(), count);
  for (const RunnerProgram& each : runner_programs())
    EXPECT_EQ(each.text, text_of(source / each.file_name)) << each.file_name;
  for (const char* name : {"xllamacpp", "transformers", "openvino-genai", "vllm"})
    EXPECT_THAT(runner_program(name), HasSubstr("def main")) << name;
  EXPECT_THAT(error_of([] { runner_program("lama"); }), HasSubstr("they are xllamacpp, "));
}

TEST(Runners, AreRunWithTheirOptionsAsShellWords) {
  const fs::path place = folder();
  const std::string command =
      runner_command("openvino-genai",
                     {{"python", "/opt/python"}, {"model", "a b'c"}, {"prompt-lookup", ""}}, place);
  EXPECT_EQ(command, "exec /opt/python " + (place / "openvino_genai_lines.py").string() +
                         " --model 'a b'\\''c' --prompt-lookup");
  EXPECT_TRUE(fs::exists(place / "draftproof_lines.py"));
}

}  // namespace
}  // namespace draftproof::tools::engines
