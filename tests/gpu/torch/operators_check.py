"""Holds the Python side of the operators to what it says; run by ctest where torch is."""
import sys

import torch

import draftproof_torch as draftproof


def batch():
    """All mass on tokens 2, 0 and 1: the draft 2, 0 is kept and 1 is the bonus; 2, 1 is cut at 1."""
    rows = torch.full((2, 3, 8), float("-inf"))
    for i, token in enumerate((2, 0, 1)):
        rows[:, i, token] = 0
    return rows, torch.tensor([[2, 0], [2, 1]], dtype=torch.int32)


def need_error(word, call):
    try:
        call()
    except RuntimeError as error:
        assert word in str(error), error
    else:
        raise AssertionError(f"no error that says {word}")


def main():
    rows, drafts = batch()
    records = draftproof.requests([1.0, 0.5], [2, 2], 8, top_p=[1.0, 0.9], preset="vllm")
    outcome = draftproof.verify(rows, drafts, records, seed=7)
    assert outcome.tokens.tolist() == [[2, 0, 1], [2, 0, -1]], outcome
    assert outcome.reasons.tolist() == [[0, 0, 2], [0, 1, -1]], outcome
    half = draftproof.verify(rows.half(), drafts, records, seed=7)
    assert torch.equal(half.tokens, outcome.tokens), "16-bit logits"
    assert outcome.outcomes[:, :3].tolist() == [[2, 3, 0], [1, 2, 0]], outcome

    workspace = draftproof.acceptance_workspace(rows)
    for _ in range(2):  # a workspace serves again as it was left
        accepted = draftproof.accept(rows, drafts, records, workspace, seed=7,
                                     kv_lengths=torch.tensor([3, 3], dtype=torch.int32))
        for name in ("tokens", "reasons", "outcomes"):
            assert torch.equal(getattr(accepted, name), getattr(outcome, name)), name
        assert accepted.kv_plans.tolist() == [[3, 0, 6, 1], [2, 1, 5, 0]], accepted
    shaped = torch.randn(2, 2, 8, generator=torch.Generator().manual_seed(1))
    judged = draftproof.verify(rows, drafts, records, draft_rows=shaped, seed=7)
    fused = draftproof.accept(rows, drafts, records, draftproof.acceptance_workspace(rows, shaped),
                              draft_rows=shaped, seed=7)
    assert torch.equal(judged.tokens, fused.tokens), (judged, fused)
    assert torch.equal(judged.outcomes, fused.outcomes), (judged, fused)

    keys = torch.arange(4 * 4 * 2, dtype=torch.float16).reshape(4, 4, 1, 2)
    before = keys.clone()
    lengths, statuses = draftproof.kv_commit(
        [keys], torch.tensor([[2, 0], [3, 1]], dtype=torch.int32),
        torch.tensor([3, 3], dtype=torch.int32), torch.tensor([3, 3], dtype=torch.int32), outcome)
    assert lengths.tolist() == [6, 5] and statuses.tolist() == [0, 0], (lengths, statuses)
    assert torch.equal(keys, before), "a chain's cells do not move"

    tree = torch.tensor([[-1, -1], [-1, -1]], dtype=torch.int32)
    branch = torch.tensor([[1, 2], [2, 5]], dtype=torch.int32)
    greedy = draftproof.requests([0, 0], [2, 2], 8)
    walked = draftproof.verify(rows, branch, greedy, parents=tree, rule="tree-greedy")
    assert walked.nodes.tolist() == [[1, -1], [0, -1]], walked
    keys[:] = before
    draftproof.kv_commit(
        [keys], torch.tensor([[2, 0], [3, 1]], dtype=torch.int32),
        torch.tensor([1, 1], dtype=torch.int32), torch.tensor([3, 3], dtype=torch.int32), walked)
    assert torch.equal(keys[2, 2], before[2, 3]), "node 1 moves to where node 0 was"
    assert torch.equal(keys[3], before[3]), "node 0 stays"

    shapes = draftproof.verify(rows.to("meta"), drafts.to("meta"), records.to("meta"))
    assert [list(each.shape) for each in shapes] == [[2, 3], [2, 3], [2, 4], [2, 0]], shapes

    need_error("temperature", lambda: draftproof.requests([float("nan")], [1], 8))
    need_error("preset", lambda: draftproof.requests([1], [1], 8, preset="typo"))
    need_error("typo", lambda: draftproof.verify(rows, drafts, records, rule="typo"))
    need_error("float32", lambda: draftproof.verify(rows.double(), drafts, records))
    need_error("requests", lambda: draftproof.verify(rows, drafts, records[:1]))
    need_error("together", lambda: draftproof.verify(rows.transpose(1, 2), drafts, records))
    need_error("workspace", lambda: draftproof.accept(rows, drafts, records, workspace[:-1]))
    need_error("coins", lambda: draftproof.verify(rows, drafts, records, coins=drafts.long()))
    need_error("draft_tokens", lambda: draftproof.verify(rows, drafts.long(), records))
    print("operators: Python judges, commits and traces as it says")


if __name__ == "__main__":
    sys.exit(main())
