"""The kernels of draftproof as functions of torch tensors.

CUDA tensors run on their device's current stream, and may be captured in a CUDA graph; CPU tensors run
on the emulated device, slowly, with every byte watched. Both give the same bits. Shapes are in
operators.cpp, what they mean in tools/docs/kernels.md. The library lies beside this file, or where the
environment variable DRAFTPROOF_TORCH_LIBRARY says.
"""
import os
from typing import NamedTuple, Optional, Sequence

import torch

torch.ops.load_library(
    os.environ.get("DRAFTPROOF_TORCH_LIBRARY",
                   os.path.join(os.path.dirname(os.path.abspath(__file__)), "libdraftproof_torch.so")))


class Outcome(NamedTuple):
    """What a verification left on the device. No field is waited for."""

    tokens: torch.Tensor  # int32 [batch, drafts + 1]: accepted tokens, the drawn one, then -1
    reasons: torch.Tensor  # int32, the same shape: 0 accepted, 1 recovered, 2 bonus, -1 none
    outcomes: torch.Tensor  # int32 [batch, 4]: accepted and emitted count, status, its position
    nodes: torch.Tensor  # int32 [batch, drafts]: accepted nodes of a tree; [batch, 0] of a chain


class Accepted(NamedTuple):
    """What fused acceptance left on the device."""

    tokens: torch.Tensor
    reasons: torch.Tensor
    outcomes: torch.Tensor
    kv_plans: torch.Tensor  # int32 [batch, 4]: slots kept, slots dropped, new length, pending token


def _kind(draft_rows: Optional[torch.Tensor], draft_kind: Optional[str]) -> str:
    if draft_kind is not None:
        return draft_kind
    return "one-hot" if draft_rows is None else "logits"


def _stream(tensor: torch.Tensor) -> int:
    return torch.cuda.current_stream(tensor.device).cuda_stream if tensor.is_cuda else 0


def requests(temperature, draft_counts, vocab_size: int, *, top_k=None, top_p=None, min_p=None,
             coin_requests=None, coin_positions=None, coin_iterations=None,
             preset: str = "default") -> torch.Tensor:
    """The records of a batch, uint8 [batch, 64], on the CPU: move them to the rows' device.

    Every argument is a sequence of one number a request. A NaN, a negative temperature and an unknown
    preset raise.
    """
    batch = len(temperature)

    def reals(values, off):
        return torch.as_tensor([off] * batch if values is None else values, dtype=torch.float64)

    def wholes(values, off):
        return torch.as_tensor(off if values is None else values, dtype=torch.int64)

    zeros = [0] * batch
    return torch.ops.draftproof.requests(
        reals(temperature, 1.0), wholes(top_k, zeros), reals(top_p, 1.0), reals(min_p, 0.0),
        wholes(draft_counts, zeros), wholes(coin_requests, list(range(batch))),
        wholes(coin_positions, zeros), wholes(coin_iterations, zeros), preset, vocab_size)


def verify(target_rows: torch.Tensor, draft_tokens: torch.Tensor, requests: torch.Tensor, *,
           draft_rows: Optional[torch.Tensor] = None, draft_kind: Optional[str] = None,
           parents: Optional[torch.Tensor] = None, coins: Optional[torch.Tensor] = None,
           seed: int = 0, rule: str = "chain") -> Outcome:
    """Shapes the rows and judges the drafts by a rule, in two launches.

    draft_kind is 'logits' where draft_rows are given and 'one-hot' where not, unless it says
    'probabilities'.
    """
    return Outcome(*torch.ops.draftproof.verify(
        target_rows, draft_rows, draft_tokens, parents, requests, coins, seed, rule,
        _kind(draft_rows, draft_kind), _stream(target_rows)))


def acceptance_workspace(target_rows: torch.Tensor, draft_rows: Optional[torch.Tensor] = None,
                         draft_kind: Optional[str] = None) -> torch.Tensor:
    """The workspace of `accept` for tensors of these shapes: make it once, use it on one stream."""
    return torch.ops.draftproof.acceptance_workspace(target_rows, draft_rows,
                                                     _kind(draft_rows, draft_kind))


def accept(target_rows: torch.Tensor, draft_tokens: torch.Tensor, requests: torch.Tensor,
           workspace: torch.Tensor, *, draft_rows: Optional[torch.Tensor] = None,
           draft_kind: Optional[str] = None, coins: Optional[torch.Tensor] = None,
           kv_lengths: Optional[torch.Tensor] = None, seed: int = 0) -> Accepted:
    """The chain rule in one launch, from logits to KV plans."""
    return Accepted(*torch.ops.draftproof.accept(
        target_rows, draft_rows, draft_tokens, requests, coins, kv_lengths, seed,
        _kind(draft_rows, draft_kind), workspace, _stream(target_rows)))


def kv_commit(planes: Sequence[torch.Tensor], tables: torch.Tensor, lengths: torch.Tensor,
              fed_counts: torch.Tensor, outcome, *, leading_count: int = 1,
              new_lengths: Optional[torch.Tensor] = None):
    """Moves the accepted cells of one layer together, in place, where the outcome says so.

    outcome is an Outcome or an Accepted; planes are [pages, page_size, heads, elements]. Returns
    (new_lengths, statuses).
    """
    if new_lengths is None:
        new_lengths = torch.empty_like(lengths)
    statuses = torch.empty_like(lengths)
    nodes = getattr(outcome, "nodes", None)
    if nodes is not None and nodes.numel() == 0:
        nodes = None
    torch.ops.draftproof.kv_commit(list(planes), tables, lengths, fed_counts, outcome.outcomes, nodes,
                                   leading_count, new_lengths, statuses, _stream(tables))
    return new_lengths, statuses
