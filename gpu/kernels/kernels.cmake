# Own kernels: .cu -> PTX (nvcc) -> embedded text. See gpu/kernels/README.md.
