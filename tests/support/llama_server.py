"""Serve a GGUF file by OpenAI's protocol, with llama.cpp, until standard input ends.

python -m tests.support.llama_server PORT FILE.gguf [--embedding]
"""

import sys

import xllamacpp

CONTEXT_TOKENS = 4_096


def main() -> None:
    port, path, *modes = sys.argv[1:]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(port)
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    if "--embedding" in modes:
        parameters.embedding = True
        parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    parameters.warmup = parameters.ui = False
    parameters.offline = True
    parameters.verbosity = -1
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
