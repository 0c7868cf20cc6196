"""Compiles vLLM's Triton acceptance kernels to PTX, without a GPU, without torch and without vLLM.

    vllm_triton.py WHEEL FOLDER

Of the wheel's modules only the @triton.jit functions, the constants they name and the imports among
these modules are taken; every other line becomes an empty one, so that line numbers stay those of
the package. Each variant below becomes FOLDER/NAME.ptx and, beside it, NAME.json: what Triton says
of the launch (entry, warps, shared bytes) and the entry's parameters in their order.

A variant states what the package's launchers decide at run time: types, constants, and whether the
integers are multiples of 16 (Triton then uses vectors; pointers always are). An argument that is
None or a constant is no parameter of the entry.
"""

import ast
import importlib
import json
import os
import pathlib
import sys
import zipfile

V1 = "vllm.v1.sample.rejection_sampler"
V2 = "vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils"
MODULES = [
    V1,
    V2,
    "vllm.v1.worker.gpu.sample.gumbel",
    "vllm.v1.worker.gpu.sample.watermark",
    "vllm.v1.watermarking.prfs.philox",
]
TRITON_IMPORTS = {
    "triton": "import triton",
    "tl": "import triton.language as tl",
    "tldevice": "import triton.language.extra.libdevice as tldevice",
    "HAS_TRITON": "HAS_TRITON = True",
}
# Triton wants the choice stated: whether a * b + c may become one fused operation. This is what the
# pinned version does when nothing is stated.
FUSION = "1"


def is_jit(node):
    return isinstance(node, ast.FunctionDef) and any(
        ast.unparse(each).startswith("triton.jit") for each in node.decorator_list
    )


def names_in(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


class KernelPart:
    """A module's text with every line blank that its kernels do not need."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.kept = [""] * len(self.lines)
        self.known = {"tl", "triton", "tldevice", "HAS_TRITON"}
        for node in ast.parse(text).body:
            self.visit(node)

    def keep(self, node, first=None):
        part = slice((first or node.lineno) - 1, node.end_lineno)
        self.kept[part] = self.lines[part]

    def visit(self, node):
        if is_jit(node):
            self.keep(node, min(each.lineno for each in node.decorator_list))
        elif isinstance(node, ast.ImportFrom) and node.module == "vllm.triton_utils":
            names = [each.name for each in node.names]
            self.kept[node.lineno - 1] = "; ".join(TRITON_IMPORTS[name] for name in names)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES + ["__future__"]:
            self.keep(node)
            self.known |= {each.asname or each.name for each in node.names}
        elif isinstance(node, ast.If) and names_in(node.test) == {"HAS_TRITON"}:
            self.keep(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            if names_in(node.value) <= self.known:
                self.keep(node)
                self.known |= names_in(node)

    def text(self):
        return "\n".join(self.kept)


def extract(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        for module in MODULES:
            path = pathlib.Path(folder, *module.split(".")).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            text = archive.read(module.replace(".", "/") + ".py").decode()
            path.write_text(KernelPart(text).text())


class Variant:
    def __init__(self, name, kernel, types, constants, aligned=False, warps=4):
        self.name, self.module, self.function = name, kernel[0], kernel[1]
        self.types, self.constants, self.aligned, self.warps = types, constants, aligned, warps


# Argument names of the package, in short: what is not named here is a pointer to floats.
TYPES = {
    **dict.fromkeys(
        "output_token_ids_ptr cu_num_draft_tokens_ptr draft_token_ids_ptr recovered_token_ids_ptr "
        "cu_num_tokens_ptr cu_num_logits_ptr idx_mapping_ptr expanded_idx_mapping_ptr "
        "expanded_local_pos_ptr draft_sampled_ptr rejected_steps_ptr rejected_step_ptr "
        "num_sampled_ptr contexts_ptr".split(), "*i32"),
    **dict.fromkeys(
        "target_argmax_ptr bonus_token_ids_ptr target_local_argmax_ptr resampled_local_argmax_ptr "
        "seed_ptr pos_ptr sampled_ptr".split(), "*i64"),
    **dict.fromkeys(
        "max_spec_len vocab_size num_speculative_steps vocab_num_blocks resample_num_blocks "
        "replace_from replace_to".split(), "i32"),
    **dict.fromkeys("watermark_key_0 watermark_key_1".split(), "u32"),
    **dict.fromkeys("watermarking_ptr watermarking_skip_mask_ptr".split(), "*u8"),
    "is_greedy_ptr": "*u1",
    "uniform_probs_ptr": "*fp64",
}


def type_of(argument, overrides):
    if argument in overrides:
        return overrides[argument]
    if argument in TYPES:
        return TYPES[argument]
    return "i32" if "_stride" in argument else "*fp32"


def v1_variants():
    """What v1/sample/rejection_sampler.py launches."""
    greedy = (V1, "rejection_greedy_sample_kernel")
    random = (V1, "rejection_random_sample_kernel")
    recovered = (V1, "sample_recovered_tokens_kernel")
    rates, coins, mask = "synthetic_conditional_rates_ptr", "uniform_probs_ptr", "is_greedy_ptr"
    plain, synthetic = {"SYNTHETIC_MODE": False}, {"SYNTHETIC_MODE": True}
    yield Variant("greedy", greedy, {coins: None, rates: None}, plain)
    yield Variant("greedy_all", greedy, {coins: None, rates: None, mask: None}, plain)
    yield Variant("greedy_synthetic", greedy, {}, synthetic)
    for label, none in [("", {}), ("_no_draft", {"draft_probs_ptr": None})]:
        constants = {"NO_DRAFT_PROBS": bool(none)}
        yield Variant(f"random{label}", random, {rates: None, **none}, {**plain, **constants})
        yield Variant(f"random_synthetic{label}", random, none, {**synthetic, **constants})
        for size, aligned in [("", False), ("_aligned", True)]:
            for race, types in [("", {}), ("_fp64", {"inv_q_ptr": "*fp64"})]:
                constants["USE_FP64_GUMBEL"] = bool(types)
                yield Variant(f"recovered{label}{race}{size}", recovered, {**none, **types},
                              {"BLOCK_SIZE": 8192, **constants}, aligned)
    for kind in ["fp32", "i32", "i64"]:
        yield Variant(f"expand_{kind}", (V1, "expand_kernel"),
                      {"output_ptr": f"*{kind}", "input_ptr": f"*{kind}"}, {"MAX_NUM_TOKENS": 128})


def v2_variants():
    """What v1/worker/gpu/spec_decode/rejection_sampler_utils.py launches, 16 vocabulary blocks."""
    block, padded = {"BLOCK_SIZE": 8192}, {"PADDED_VOCAB_NUM_BLOCKS": 16}
    no_blocks = {"cumulative_log_p_ptr": None, "local_residual_mass_ptr": None}
    no_rates = {"synthetic_conditional_rates_ptr": None}
    unmarked = dict.fromkeys(["contexts_ptr", "watermarking_ptr", "watermarking_skip_mask_ptr"])
    for label, draft in [("", "*fp32"), ("_bf16", "*bf16"), ("_no_draft", None)]:
        types, has = {"draft_logits_ptr": draft}, {"HAS_DRAFT_LOGITS": draft is not None}
        yield Variant(f"v2_stats{label}", (V2, "_compute_local_logits_stats_kernel"), types,
                      {**block, **has})
        yield Variant(f"v2_cumulative{label}", (V2, "_compute_cumulative_log_p_kernel"), types,
                      {**padded, **has}, warps=1)
        for method, given, flags in [
            ("", {**no_blocks, **no_rates}, (False, False)),
            ("_synthetic", no_blocks, (True, False)),
            ("_block", no_rates, (False, True)),
        ]:
            modes = {"SYNTHETIC_MODE": flags[0], "USE_BLOCK_VERIFICATION": flags[1]}
            yield Variant(f"v2_rejection{method}{label}", (V2, "_rejection_kernel"),
                          {**types, **given}, {**padded, **has, **modes}, warps=1)
        for method, given, doubles, verify_blocks, mark in [
            ("", {**unmarked, "cumulative_log_p_ptr": None}, False, False, False),
            ("_fp64", {**unmarked, "resampled_local_max_ptr": "*fp64"}, True, True, False),
            ("_watermark", {}, False, True, True),
        ]:
            modes = {"USE_FP64": doubles, "USE_BLOCK_VERIFICATION": verify_blocks,
                     "WATERMARK": mark, "DEDUPLICATE_CONTEXTS": mark, "CONTEXT_WIDTH": 1 + 3 * mark}
            yield Variant(f"v2_resample{method}{label}", (V2, "_resample_kernel"),
                          {**types, **given}, {"BLOCK_SIZE": 1024, **has, **modes})
    yield Variant("v2_residual_mass", (V2, "_compute_local_residual_mass_kernel"), {},
                  {**block, **padded})
    yield Variant("v2_insert", (V2, "_insert_resampled_kernel"), {},
                  {"PADDED_RESAMPLE_NUM_BLOCKS": 128})


def compile_variant(folder, variant):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = getattr(importlib.import_module(variant.module), variant.function)
    unknown = (set(variant.types) | set(variant.constants)) - set(kernel.arg_names)
    if unknown:
        raise SystemExit(f"{variant.function} has no argument {sorted(unknown)}")
    signature, constants, attributes, parameters = {}, {}, {}, []
    for index, (argument, parameter) in enumerate(zip(kernel.arg_names, kernel.params)):
        kind = type_of(argument, variant.types)
        if argument in variant.constants or kind is None:
            signature[argument] = "constexpr"
            constants[(index,)] = variant.constants.get(argument)
            continue
        signature[argument] = kind
        parameters.append({"name": argument, "type": kind})
        if kind.startswith("*") or (variant.aligned and not parameter.do_not_specialize):
            attributes[(index,)] = [["tt.divisibility", 16]]
    compiled = triton.compile(
        ASTSource(kernel, signature, constants, attributes),
        target=GPUTarget("cuda", 90, 32),
        # 9.0 is what nvcc 13.0 and its ptxas speak; only the line .version depends on it.
        options={"num_warps": variant.warps, "ptx_version": 90},
    )
    data = compiled.metadata
    description = {
        "entry": data.name,
        "num_warps": data.num_warps,
        "shared": data.shared,
        "parameters": parameters,
        "constants": variant.constants,
        "module": variant.module,
    }
    path = pathlib.Path(folder, variant.name)
    path.with_suffix(".json").write_text(json.dumps(description, indent=1) + "\n")
    path.with_suffix(".ptx").write_text(compiled.asm["ptx"])


def main():
    wheel, folder = sys.argv[1:]
    python = pathlib.Path(folder, "python").absolute()
    os.environ["TRITON_CACHE_DIR"] = str(pathlib.Path(folder, "cache").absolute())
    os.environ["TRITON_DEFAULT_FP_FUSION"] = FUSION
    extract(wheel, python)
    sys.path.insert(0, str(python))
    for variant in [*v1_variants(), *v2_variants()]:
        compile_variant(folder, variant)


if __name__ == "__main__":
    main()
