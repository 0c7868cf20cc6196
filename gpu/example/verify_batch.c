/* verify_batch: one verification of a batch, as an engine does it: requests, acceptance, and the
 * commit of the KV cache, on one stream without a wait in between.
 *
 *   verify_batch               on the emulated device, which needs no GPU and watches every byte
 *   verify_batch --cuda        on the first GPU
 *   ... --rule chain           in two launches, shaping and a rule, instead of the fused one; a
 * rule for trees sees chains here, one that is greedy greedy requests
 *
 * Two requests over a vocabulary of 8 tokens. The first drafted tokens 3 and 5, the second, greedy,
 * drafted token 1. Coins come from a seed, so that every run, on any device, prints the same. */
#include <draftproof_kernels.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum {
  kRequests = 2,
  kDrafts = 2,
  kRows = kDrafts + 1,
  kVocabulary = 8,
  kPageSize = 4,
  kPages = 4
};

/* Target logits of every slot: row i of a request is the one behind i drafted tokens. */
static const float kTargetRows[kRequests][kRows][kVocabulary] = {
    {{0, 0, 0, 6, 0, 0, 0, 0}, {1, 2, 0, 0, 0, 1, 0, 0}, {0, 0, 4, 0, 0, 0, 0, 0}},
    {{0, 3, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 3}, {0, 0, 0, 0, 0, 0, 0, 0}}};
/* Logits that the drafted tokens were drawn from. */
static const float kDraftRows[kRequests][kDrafts][kVocabulary] = {
    {{0, 0, 0, 3, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 4, 0, 0}},
    {{0, 2, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}}};
static const int32_t kDraftTokens[kRequests][kDrafts] = {{3, 5}, {1, -1}};

/* What an engine keeps for a batch. */
typedef struct batch {
  draftproof_pointer target_rows, draft_rows, draft_tokens, requests;
  draftproof_pointer target_records, draft_records;
  draftproof_pointer emitted_tokens, emitted_reasons, outcomes;
} batch;

/* A greedy rule needs every request to be greedy. */
static batch batch_put(device* device, int is_greedy) {
  static const double kTemperatures[kRequests] = {0.8, 0};
  static const uint32_t kDraftCounts[kRequests] = {2, 1};
  draftproof_request requests[kRequests];
  batch made;
  int i;
  for (i = 0; i < kRequests; ++i) {
    draftproof_sampling sampling = DRAFTPROOF_SAMPLING_DEFAULT;
    sampling.temperature = is_greedy ? 0 : kTemperatures[i];
    sampling.top_p = 0.95;
    need(device, "request", draftproof_request_init(&sampling, kVocabulary, &requests[i]));
    requests[i].draft_count = kDraftCounts[i];
    requests[i].coin_request = (uint32_t)i;
    requests[i].coin_position = 100; /* of the first drafted token in its sequence */
  }
  made.target_rows = device_put(device, "target_rows", kTargetRows, sizeof(kTargetRows));
  made.draft_rows = device_put(device, "draft_rows", kDraftRows, sizeof(kDraftRows));
  made.draft_tokens = device_put(device, "draft_tokens", kDraftTokens, sizeof(kDraftTokens));
  made.requests = device_put(device, "requests", requests, sizeof(requests));
  made.target_records =
      device_put(device, "target_records", NULL, kRequests * kRows * sizeof(draftproof_row_record));
  made.draft_records = device_put(device, "draft_records", NULL,
                                  kRequests * kDrafts * sizeof(draftproof_row_record));
  made.emitted_tokens =
      device_put(device, "emitted_tokens", NULL, kRequests * kRows * sizeof(int32_t));
  made.emitted_reasons =
      device_put(device, "emitted_reasons", NULL, kRequests * kRows * sizeof(int32_t));
  made.outcomes = device_put(device, "outcomes", NULL, kRequests * sizeof(draftproof_outcome));
  return made;
}

static void batch_free(device* device, const batch* batch) {
  device_free(device, batch->target_rows);
  device_free(device, batch->draft_rows);
  device_free(device, batch->draft_tokens);
  device_free(device, batch->requests);
  device_free(device, batch->target_records);
  device_free(device, batch->draft_records);
  device_free(device, batch->emitted_tokens);
  device_free(device, batch->emitted_reasons);
  device_free(device, batch->outcomes);
}

/* One launch: logits in, tokens out. The workspace is zeroed once and then serves every launch with
 * these capacities, whatever the batch; an engine keeps it. */
static draftproof_pointer accept(device* device, const batch* batch, void* stream) {
  static const unsigned char zeros[1 << 16];
  draftproof_acceptance_arguments fused;
  memset(&fused, 0, sizeof(fused));
  fused.target_rows = batch->target_rows;
  fused.target_row_stride = kVocabulary;
  fused.draft_rows = batch->draft_rows;
  fused.draft_row_stride = kVocabulary;
  fused.draft_tokens = batch->draft_tokens;
  fused.requests = batch->requests;
  fused.seed = 7; /* coins are Philox's, addressed by request and position */
  fused.emitted_tokens = batch->emitted_tokens;
  fused.emitted_reasons = batch->emitted_reasons;
  fused.outcomes = batch->outcomes;
  fused.request_capacity = kRequests;
  fused.padded_draft_count = kDrafts;
  fused.vocab_size = kVocabulary;
  fused.format = DRAFTPROOF_FLOAT32;
  fused.draft_kind = DRAFTPROOF_DRAFT_LOGITS;
  need(device, "division", draftproof_acceptance_divide(device->library, &fused));
  need(device, "workspace", draftproof_acceptance_workspace(&fused, &fused.workspace_bytes));
  if (fused.workspace_bytes > sizeof(zeros)) {
    fprintf(stderr, "this example has no room for such a workspace\n");
    exit(1);
  }
  fused.workspace = device_put(device, "workspace", zeros, fused.workspace_bytes);
  need(device, "acceptance", draftproof_acceptance_launch(device->library, &fused, stream));
  return fused.workspace;
}

/* Two launches: rows become records, records and coins become tokens. */
static void judge(device* device, const batch* batch, const draftproof_rule* rule, void* stream) {
  draftproof_shape_rows_arguments shape;
  draftproof_verify_arguments verify;
  memset(&shape, 0, sizeof(shape));
  shape.target_rows = batch->target_rows;
  shape.target_row_stride = kVocabulary;
  shape.draft_rows = batch->draft_rows;
  shape.draft_row_stride = kVocabulary;
  shape.draft_tokens = batch->draft_tokens;
  shape.requests = batch->requests;
  shape.target_records = batch->target_records;
  shape.draft_records = batch->draft_records;
  shape.format = DRAFTPROOF_FLOAT32;
  shape.request_count = kRequests;
  shape.padded_draft_count = kDrafts;
  shape.vocab_size = kVocabulary;
  need(device, "shape_rows", draftproof_shape_rows_launch(device->library, &shape, stream));

  memset(&verify, 0, sizeof(verify));
  verify.target_rows = batch->target_rows;
  verify.target_row_stride = kVocabulary;
  verify.draft_rows = batch->draft_rows;
  verify.draft_row_stride = kVocabulary;
  verify.draft_tokens = batch->draft_tokens;
  verify.requests = batch->requests;
  verify.target_records = batch->target_records;
  verify.draft_records = batch->draft_records;
  verify.seed = 7;
  verify.emitted_tokens = batch->emitted_tokens;
  verify.emitted_reasons = batch->emitted_reasons;
  verify.outcomes = batch->outcomes;
  verify.format = DRAFTPROOF_FLOAT32;
  verify.request_count = kRequests;
  verify.padded_draft_count = kDrafts;
  verify.vocab_size = kVocabulary;
  if (rule->takes_trees) /* no parents: the drafts are chains */
    verify.accepted_nodes =
        device_put(device, "accepted_nodes", NULL, kRequests * kDrafts * sizeof(int32_t));
  need(device, "verify", draftproof_verify_launch(device->library, rule->name, &verify, stream));
  if (verify.accepted_nodes != 0) device_free(device, verify.accepted_nodes);
}

/* What the rule of this name reads. */
static draftproof_rule rule_of(const char* name) {
  draftproof_rule rule;
  uint32_t i;
  for (i = 0; draftproof_verify_rule(i, &rule).code == DRAFTPROOF_OK; ++i)
    if (strcmp(rule.name, name) == 0) return rule;
  fprintf(stderr, "there is no rule %s, but:", name);
  for (i = 0; draftproof_verify_rule(i, &rule).code == DRAFTPROOF_OK; ++i)
    fprintf(stderr, " %s", rule.name);
  fprintf(stderr, "\n");
  exit(1);
}

/* A cache of one layer: keys of 16 bytes a slot, pages of four slots. Both requests hold 3 tokens
 * and were fed the pending token and their draft. */
static void commit(device* device, const batch* batch, void* stream) {
  static const int32_t kTables[kRequests][2] = {{2, 0}, {3, 1}};
  static const int32_t kLengths[kRequests] = {3, 3};
  static const int32_t kFedCounts[kRequests] = {3, 2};
  static unsigned char keys[kPages][kPageSize][16];
  draftproof_kv_commit_arguments kv;
  int32_t lengths[kRequests];
  uint32_t statuses[kRequests];
  int i;
  memset(&kv, 0, sizeof(kv));
  kv.pool.planes[0].base = device_put(device, "keys", keys, sizeof(keys));
  kv.pool.planes[0].layer_stride = sizeof(keys);
  kv.pool.planes[0].page_stride = sizeof(keys[0]);
  kv.pool.planes[0].slot_stride = sizeof(keys[0][0]);
  kv.pool.planes[0].head_count = 1;
  kv.pool.planes[0].head_bytes = sizeof(keys[0][0]);
  kv.pool.plane_count = 1;
  kv.pool.layer_count = 1;
  kv.pool.page_size = kPageSize;
  kv.pool.page_count = kPages;
  kv.sequences.tables = device_put(device, "tables", kTables, sizeof(kTables));
  kv.sequences.table_stride = 2;
  kv.sequences.row_count = kRequests;
  kv.sequences.page_max = 2;
  kv.sequences.sequence_count = kRequests;
  kv.sequences.lengths = device_put(device, "lengths", kLengths, sizeof(kLengths));
  kv.sequences.fed_counts = device_put(device, "fed_counts", kFedCounts, sizeof(kFedCounts));
  /* The pending token stays, and so many drafted ones as the acceptance says: on the device. */
  kv.kept.leading_count = 1;
  kv.kept.counts = batch->outcomes + offsetof(draftproof_outcome, accepted_count);
  kv.kept.count_stride_bytes = sizeof(draftproof_outcome);
  kv.kept.kept_max = kDrafts;
  kv.new_lengths = device_put(device, "new_lengths", NULL, sizeof(lengths));
  kv.statuses = device_put(device, "statuses", NULL, sizeof(statuses));
  need(device, "kv_commit", draftproof_kv_commit_launch(device->library, &kv, stream));

  device_get(device, kv.new_lengths, lengths, sizeof(lengths));
  device_get(device, kv.statuses, statuses, sizeof(statuses));
  for (i = 0; i < kRequests; ++i)
    printf("request %d: cache holds %" PRId32 " tokens, was %" PRId32 ", status %" PRIu32 "\n", i,
           lengths[i], kLengths[i], statuses[i]);
  device_free(device, kv.pool.planes[0].base);
  device_free(device, kv.sequences.tables);
  device_free(device, kv.sequences.lengths);
  device_free(device, kv.sequences.fed_counts);
  device_free(device, kv.new_lengths);
  device_free(device, kv.statuses);
}

static void print(device* device, const batch* batch) {
  static const char* const kReasons[] = {"accepted", "recovered", "bonus"};
  int32_t tokens[kRequests][kRows], reasons[kRequests][kRows];
  draftproof_outcome outcomes[kRequests];
  uint32_t j;
  int i;
  device_get(device, batch->emitted_tokens, tokens, sizeof(tokens));
  device_get(device, batch->emitted_reasons, reasons, sizeof(reasons));
  device_get(device, batch->outcomes, outcomes, sizeof(outcomes));
  for (i = 0; i < kRequests; ++i) {
    printf("request %d: accepted %" PRIu32 ", status %" PRIu32 ", emitted", i,
           outcomes[i].accepted_count, outcomes[i].status);
    for (j = 0; j < outcomes[i].emitted_count; ++j)
      printf(" %" PRId32 " (%s)", tokens[i][j], kReasons[reasons[i][j]]);
    printf("\n");
  }
}

int main(int count, char** words) {
  const char* rule = NULL;
  int wants_cuda = 0, i;
  for (i = 1; i < count; ++i) {
    if (strcmp(words[i], "--cuda") == 0) {
      wants_cuda = 1;
    } else if (strcmp(words[i], "--rule") == 0 && i + 1 < count) {
      rule = words[++i];
    } else {
      fprintf(stderr, "verify_batch [--cuda] [--rule NAME]\n");
      return 1;
    }
  }
  {
    device device = device_open(wants_cuda);
    draftproof_rule needs = {0};
    batch batch;
    draftproof_pointer workspace = 0;
    void* stream = NULL; /* an engine's own */
    if (rule != NULL) needs = rule_of(rule);
    batch = batch_put(&device, needs.is_greedy);
    if (rule == NULL)
      workspace = accept(&device, &batch, stream);
    else
      judge(&device, &batch, &needs, stream);
    commit(&device, &batch, stream);
    print(&device, &batch);
    if (workspace != 0) device_free(&device, workspace);
    batch_free(&device, &batch);
    device_close(&device);
  }
  return 0;
}
