"""llama.cpp through llama-cpp-python's bindings as a worker of the benchmark.

usage: peer_llama.py FILE.gguf THREADS
"""
import ctypes
import sys

import llama_cpp.llama_cpp as llama
import numpy as np
import peer

REPLY_TOKENS_MAX = 256
BATCH_TOKENS = 512


@llama.llama_log_callback
def drop(_level, _text, _data):
    """llama.cpp's log."""


class Context:
    """A context for sequences that each keep keys and values of their own."""

    def __init__(self, model, threads, sequences, tokens_each):
        params = llama.llama_context_default_params()
        params.n_ctx = sequences * tokens_each
        params.n_batch = params.n_ubatch = BATCH_TOKENS
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = threads
        params.kv_unified = False
        self.handle = llama.llama_init_from_model(model, params)
        if not self.handle:
            raise SystemExit(f"llama.cpp gave no context for {sequences} sequences of {tokens_each} tokens")
        self.batch = llama.llama_batch_init(BATCH_TOKENS, 0, 1)
        self.vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))

    def run(self, rows, wanted):
        """rows: (token, position, sequence); greedy next tokens of the last `wanted` rows."""
        batch = self.batch
        batch.n_tokens = len(rows)
        for i, (token, position, sequence) in enumerate(rows):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, position, 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = i >= len(rows) - wanted
        if (status := llama.llama_decode(self.handle, batch)) != 0:
            raise SystemExit(f"llama_decode: {status}")
        if wanted == 0:
            return []
        logits = llama.llama_get_logits(self.handle)
        address = ctypes.addressof(logits.contents)
        every = np.ctypeslib.as_array((ctypes.c_float * (wanted * self.vocabulary)).from_address(address))
        return every.reshape(wanted, self.vocabulary).argmax(1).tolist()

    def prefill(self, ids):
        drawn = []
        for first in range(0, len(ids), BATCH_TOKENS):
            part = ids[first:first + BATCH_TOKENS]
            is_last = first + len(part) == len(ids)
            drawn = self.run([(token, first + i, 0) for i, token in enumerate(part)], int(is_last))
        return drawn[0]

    def free(self):
        llama.llama_batch_free(self.batch)
        llama.llama_free(self.handle)


class Worker:
    def __init__(self, path, threads):
        llama.llama_log_set(drop, ctypes.c_void_p(0))
        llama.llama_backend_init()
        self.threads = threads
        self.model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"llama.cpp could not load {path}")
        self.context = self.alone = None
        self.next, self.length = [], 0

    def prefill(self, ids):
        if self.alone is None:
            self.alone = Context(self.model, self.threads, 1, 4096 + BATCH_TOKENS)
        llama.llama_memory_clear(llama.llama_get_memory(self.alone.handle), False)
        self.alone.prefill(ids)

    def start(self, prompts):
        """One prompt is computed; the other sequences get copies of its keys and values (see peer_transformers)."""
        self.context = Context(self.model, self.threads, len(prompts), len(prompts[0]) + REPLY_TOKENS_MAX)
        token = self.context.prefill(prompts[0])
        memory = llama.llama_get_memory(self.context.handle)
        for sequence in range(1, len(prompts)):
            llama.llama_memory_seq_cp(memory, 0, sequence, -1, -1)
        self.next, self.length = [token] * len(prompts), len(prompts[0])

    def decode(self, steps):
        for _ in range(steps):
            rows = [(token, self.length, sequence) for sequence, token in enumerate(self.next)]
            self.next = self.context.run(rows, len(rows))
            self.length += 1

    def stop(self):
        self.context.free()
        self.context = None


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    peer.serve(Worker(sys.argv[1], int(sys.argv[2])))
