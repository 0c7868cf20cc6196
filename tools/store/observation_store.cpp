#include "tools/store/observation_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "reference/error.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::store {
namespace {

namespace fs = std::filesystem;
using properties::Arm;
using properties::Transcript;

constexpr int kApplicationId = 0x44505246;  // "DPRF", in the file's header: file(1) shows it
constexpr int kSchemaVersion = 1;

/// The line repeats its key, so that a row alone is a transcript; the columns are what is asked by.
constexpr const char* kSchema = R"(
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE transcripts (
  case_id TEXT NOT NULL, arm INTEGER NOT NULL, repeat INTEGER NOT NULL, trial INTEGER NOT NULL,
  line TEXT NOT NULL, PRIMARY KEY (case_id, arm, repeat, trial)) WITHOUT ROWID;
CREATE TRIGGER facts_never_change BEFORE UPDATE ON facts
  BEGIN SELECT RAISE(ABORT, 'facts of a run never change'); END;
CREATE TRIGGER facts_stay BEFORE DELETE ON facts
  BEGIN SELECT RAISE(ABORT, 'facts of a run stay'); END;
CREATE TRIGGER facts_are_not_replaced BEFORE INSERT ON facts
  WHEN EXISTS (SELECT 1 FROM facts WHERE name = NEW.name)
  BEGIN SELECT RAISE(ABORT, 'facts of a run never change'); END;
CREATE TRIGGER transcripts_are_not_replaced BEFORE INSERT ON transcripts
  WHEN EXISTS (SELECT 1 FROM transcripts WHERE case_id = NEW.case_id AND arm = NEW.arm
               AND repeat = NEW.repeat AND trial = NEW.trial)
  BEGIN SELECT RAISE(ABORT, 'observations never change'); END;
CREATE TRIGGER transcripts_never_change BEFORE UPDATE ON transcripts
  BEGIN SELECT RAISE(ABORT, 'observations never change'); END;
CREATE TRIGGER transcripts_stay BEFORE DELETE ON transcripts
  BEGIN SELECT RAISE(ABORT, 'observations stay'); END;
)";

[[noreturn]] void fail(const fs::path& path, const std::string& message) {
  throw Error(ErrorKind::kEnvironment, message, path.string());
}

/// What a code of SQLite means for whoever named the file.
[[noreturn]] void fail(const fs::path& path, sqlite3* database, int code) {
  const int system = database == nullptr ? 0 : sqlite3_system_errno(database);
  // The index of the log is not grown by SQLite's writes: its want of room is an I/O error.
  if ((code & 0xff) == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT)) code = SQLITE_FULL;
  const std::string words = database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      fail(path, "is damaged, or no run store (" + words +
                     "); judge another copy of it, or collect again into another folder");
    case SQLITE_FULL:
      fail(path, "no room on the disk; make room and resume: what was committed is kept");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      fail(path, "another process holds it; wait until that one has ended");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      fail(path, "cannot be opened: " + (system != 0 ? std::strerror(system) : words) +
                     "; name another folder, or copy the run to where it can be written");
    default:
      fail(path, "cannot be read or written: " + (system != 0 ? std::strerror(system) : words) +
                     "; what was committed is kept");
  }
}

/// Where nothing can be written SQLite cannot keep the index of its log, and needs none when there
/// is no log.
std::string uri_of(const fs::path& path, bool is_immutable) {
  std::string uri = "file:";
  for (const char c : fs::absolute(path).string()) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '?' || c == '#' || c == '%' || byte < 0x20) {
      uri += '%';
      uri += kHex[byte >> 4];
      uri += kHex[byte & 15];
    } else {
      uri += c;
    }
  }
  return uri + (is_immutable ? "?immutable=1" : "");
}

bool has_content(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return !error && size > 0;
}

std::string_view text_of(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text == nullptr
             ? std::string_view()
             : std::string_view(text,
                                static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

}  // namespace

/// One connection. Throws for whatever SQLite does not do.
struct ObservationStore::Parts {
  fs::path path;
  sqlite3* database = nullptr;
  int lock = -1;
  struct ::stat opened = {};  ///< the file that is written

  ~Parts() {
    sqlite3_close(database);
    if (lock >= 0) ::close(lock);
  }

  void check(int code) const {
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) fail(path, database, code);
  }
  void run(const char* sql) const { check(sqlite3_exec(database, sql, nullptr, nullptr, nullptr)); }

  /// A prepared statement that ends with the object.
  class Statement {
   public:
    Statement(const Parts& parts, const char* sql) : parts_(parts) {
      parts.check(sqlite3_prepare_v2(parts.database, sql, -1, &statement_, nullptr));
    }
    Statement(const Statement&) = delete;
    ~Statement() { sqlite3_finalize(statement_); }

    void bind(int index, std::string_view text) {
      parts_.check(sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()),
                                     SQLITE_STATIC));
    }
    void bind(int index, std::int64_t number) {
      parts_.check(sqlite3_bind_int64(statement_, index, number));
    }
    void bind(const properties::TrialKey& key) {
      bind(1, key.case_id);
      bind(2, static_cast<std::int64_t>(key.arm));
      bind(3, static_cast<std::int64_t>(key.repeat));
      bind(4, static_cast<std::int64_t>(key.trial));
    }
    /// True: a row is there.
    bool step() {
      const int code = sqlite3_step(statement_);
      parts_.check(code);
      return code == SQLITE_ROW;
    }
    void reset() { sqlite3_reset(statement_); }
    sqlite3_stmt* get() const { return statement_; }

   private:
    const Parts& parts_;
    sqlite3_stmt* statement_ = nullptr;
  };

  std::int64_t number(const char* sql) const {
    Statement statement(*this, sql);
    return statement.step() ? sqlite3_column_int64(statement.get(), 0) : 0;
  }

  /// One writer a run. A lock of the system's goes with its process, however that ends.
  void take_lock() {
    const std::string file = path.string() + ".lock";
    lock = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock < 0)
      fail(path, std::string("cannot write: ") + std::strerror(errno) + "; " +
                     std::string(kAnotherReportDir));
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0)
      fail(path, "a running audit writes to it; wait until that one has ended");
  }

  void open(int flags, bool is_immutable) {
    check(sqlite3_open_v2(uri_of(path, is_immutable).c_str(), &database,
                          flags | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX, nullptr));
    sqlite3_busy_timeout(database, 5000);
  }

  void begin_run() const {
    run("PRAGMA journal_mode = WAL");
    run("BEGIN IMMEDIATE");
    run(kSchema);
    run(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
    run(("PRAGMA user_version = " + std::to_string(kSchemaVersion)).c_str());
    run("COMMIT");
  }

  /// A run that ended before its tables were there, for want of room or by a kill.
  bool is_blank() const {
    return number("PRAGMA application_id") == 0 &&
           number("SELECT COUNT(*) FROM sqlite_schema") == 0;
  }

  /// SQLite writes on to a file that no path leads to any more, and all of it would be lost.
  void need_the_same_file() const {
    struct ::stat now = {};
    if (::stat(path.c_str(), &now) != 0 || now.st_ino != opened.st_ino ||
        now.st_dev != opened.st_dev)
      fail(path, "was removed or replaced while the audit wrote to it; what it held is lost: " +
                     std::string("audit again"));
  }

  void refuse_others() const {
    if (number("PRAGMA application_id") != kApplicationId)
      fail(path, "is a database of another program; name a run.sqlite of draftproof audit");
    const auto version = number("PRAGMA user_version");
    if (version != kSchemaVersion)
      fail(path, "has schema " + std::to_string(version) + ", and this draftproof reads schema " +
                     std::to_string(kSchemaVersion) + "; judge it with the version that wrote it");
  }
};

ObservationStore::ObservationStore(const fs::path& path, Mode mode)
    : parts_(std::make_unique<Parts>()) {
  parts_->path = path;
  std::error_code error;
  const bool is_there = fs::exists(path, error);
  if (fs::is_directory(path, error)) fail(path, "is a folder; name the run.sqlite in it");
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (mode == Mode::kCreate) {
    if (is_there) fail(path, "is there already; resume that run, or choose another folder");
    fs::create_directories(folder, error);
    if (error)
      fail(path, "cannot write: " + error.message() + "; " + std::string(kAnotherReportDir));
  } else if (!is_there) {
    fail(path, "no such file; name a run.sqlite");
  }
  if (mode == Mode::kRead) {
    const bool is_frozen =
        ::access(folder.c_str(), W_OK) != 0 && !has_content(path.string() + "-wal");
    parts_->open(SQLITE_OPEN_READONLY, is_frozen);
    if (parts_->is_blank())
      fail(path, "holds nothing: the run ended before it began; resume it, or audit again");
    parts_->refuse_others();
    return;
  }
  parts_->take_lock();
  parts_->open(SQLITE_OPEN_READWRITE | (mode == Mode::kCreate ? SQLITE_OPEN_CREATE : 0), false);
  if (mode == Mode::kCreate || parts_->is_blank()) parts_->begin_run();
  parts_->refuse_others();
  ::stat(path.c_str(), &parts_->opened);
  // A crash of the process loses nothing that was committed; one of the machine the last batches.
  parts_->run("PRAGMA synchronous = NORMAL");
}

ObservationStore::~ObservationStore() = default;

void ObservationStore::set(const std::string& name, const std::string& json) {
  const std::string before = get(name);
  if (before == json) return;
  if (!before.empty())
    throw Error(ErrorKind::kInput,
                "holds another run: its " + name + " differs; resume it as it was begun, or " +
                    "begin another run",
                parts_->path.string());
  Parts::Statement insert(*parts_, "INSERT INTO facts (name, value) VALUES (?, ?)");
  insert.bind(1, name);
  insert.bind(2, json);
  insert.step();
}

std::string ObservationStore::get(const std::string& name) const {
  Parts::Statement select(*parts_, "SELECT value FROM facts WHERE name = ?");
  select.bind(1, name);
  return select.step() ? std::string(text_of(select.get(), 0)) : "";
}

void ObservationStore::append(const std::vector<Transcript>& transcripts) {
  if (transcripts.empty()) return;
  parts_->need_the_same_file();
  parts_->run("BEGIN IMMEDIATE");
  try {
    Parts::Statement select(*parts_,
                            "SELECT line FROM transcripts WHERE case_id = ? AND arm = ? AND "
                            "repeat = ? AND trial = ?");
    Parts::Statement insert(*parts_,
                            "INSERT INTO transcripts (case_id, arm, repeat, trial, line) "
                            "VALUES (?, ?, ?, ?, ?)");
    for (const Transcript& transcript : transcripts) {
      const std::string line = properties::line_of(transcript);
      select.bind(transcript.key);
      const bool is_here = select.step();
      if (is_here && text_of(select.get(), 0) != line)
        throw Error(ErrorKind::kInput,
                    "holds another answer to trial " + std::to_string(transcript.key.trial) +
                        " of " + transcript.key.case_id + "; two runs were mixed",
                    parts_->path.string());
      select.reset();
      if (is_here) continue;
      insert.bind(transcript.key);
      insert.bind(5, line);
      insert.step();
      insert.reset();
    }
    parts_->run("COMMIT");
  } catch (...) {
    sqlite3_exec(parts_->database, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

properties::audits::Evidence ObservationStore::read() const {
  properties::audits::Evidence evidence;
  read_into(evidence);
  return evidence;
}

void ObservationStore::read_into(properties::audits::Evidence& evidence) const {
  Parts::Statement select(*parts_,
                          "SELECT case_id, arm, repeat, trial, line FROM transcripts "
                          "ORDER BY case_id, arm, repeat, trial");
  while (select.step()) {
    if (sqlite3_column_type(select.get(), 0) != SQLITE_TEXT)  // a file that was cut at its end
      fail(parts_->path, parts_->database, SQLITE_CORRUPT);
    const std::string place = parts_->path.string() + ": trial " +
                              std::string(text_of(select.get(), 3)) + " of " +
                              std::string(text_of(select.get(), 0));
    Transcript transcript = properties::transcript_from(text_of(select.get(), 4), place);
    const auto& key = transcript.key;
    const bool is_at_its_place =
        key.case_id == text_of(select.get(), 0) &&
        static_cast<std::int64_t>(key.arm) == sqlite3_column_int64(select.get(), 1) &&
        static_cast<std::int64_t>(key.repeat) == sqlite3_column_int64(select.get(), 2) &&
        static_cast<std::int64_t>(key.trial) == sqlite3_column_int64(select.get(), 3);
    if (!is_at_its_place)
      throw Error(ErrorKind::kInput, "the row and its line do not agree; the file was altered",
                  place);
    try {
      evidence.add(std::move(transcript));
    } catch (const Error& error) {
      throw Error(ErrorKind::kInput, error.what(), parts_->path.string());
    }
  }
}

}  // namespace draftproof::tools::store
