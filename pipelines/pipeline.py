"""
A Kubeflow pipeline: load a folder into a JSON artifact of chunks, embed and store them.

    load --(chunks: Dataset)--> embed

Both steps run ``manage.py`` by subprocess, so this file needs kfp only and imports no app. Run it
by ``manage.py pipeline``, or by hand with a Python that has kfp (``scripts/install pipelines``):

    python pipelines/pipeline.py compile --output pipeline.yaml
    python pipelines/pipeline.py run --path ./documents --root ./runs

The environment variable PIPELINE_MANAGE says how a step calls ``manage.py``.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

# kfp is not installed where mypy runs.
from kfp import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    compiler,
    dsl,
    kubernetes,
    local,
)

DEFAULT_IMAGES = ("pkb-load:local", "pkb-embed:local")
# Unused; kfp's local runner warns about other image names.
LOCAL_IMAGES = ("python", "python")
SECRET = "pkb"  # noqa: S105  (the name of a Kubernetes secret)
SECRET_KEY_TO_ENV = {"DATABASE_URL": "DATABASE_URL"}
VOLUME = "pkb-documents"
MOUNT_PATH = "/documents"
BATCH_SIZE = 32


def load(path: str, collection: str, tags: list[str], chunks: dsl.Output[dsl.Dataset]) -> None:
    """Write the chunks of a folder; failed files are listed and do not stop it."""
    import json  # noqa: PLC0415  (a step's source is all that travels)
    import os  # noqa: PLC0415
    import shlex  # noqa: PLC0415
    import subprocess  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    manage = shlex.split(os.environ.get("PIPELINE_MANAGE", "python manage.py"))
    labels = [part for tag in tags for part in ("--tag", tag)]
    output = ["--output", chunks.path, "--collection", collection]
    done = subprocess.run([*manage, "load", path, *output, *labels], check=False)  # noqa: S603
    # Exit code 1 means that some files failed; if the step failed, there is no artifact.
    if done.returncode not in {0, 1} or not Path(chunks.path).is_file():
        raise SystemExit(f"manage.py load ended with {done.returncode}")
    written = json.loads(Path(chunks.path).read_text(encoding="utf-8"))
    chunks.metadata["document_count"] = len(written["documents"])
    chunks.metadata["failed_count"] = len(written["failed"])


def embed(chunks: dsl.Input[dsl.Dataset], collection: str, batch_size: int) -> None:
    """Embed and store the chunks; running it again stores nothing twice."""
    import os  # noqa: PLC0415
    import shlex  # noqa: PLC0415
    import subprocess  # noqa: PLC0415

    manage = shlex.split(os.environ.get("PIPELINE_MANAGE", "python manage.py"))
    options = ["--collection", collection, "--batch-size", str(batch_size)]
    done = subprocess.run([*manage, "embed", chunks.path, *options], check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"manage.py embed ended with {done.returncode}")


def build_pipeline(images: tuple[str, str], *, on_cluster: bool) -> Any:
    """Return the pipeline.

    Args:
        images: Images of the two steps; they contain kfp, so nothing is installed at the start.
        on_cluster: Whether the steps get the secret and the volume that
            pipelines/README.md sets up.
    """
    load_step = dsl.component(load, base_image=images[0], install_kfp_package=False)
    embed_step = dsl.component(embed, base_image=images[1], install_kfp_package=False)

    def pkb_ingest(
        path: str = MOUNT_PATH,
        collection: str = "default",
        tags: list[str] = [],  # noqa: B006  (kfp writes it down as the default)
        batch_size: int = BATCH_SIZE,
    ) -> None:
        loaded = load_step(path=path, collection=collection, tags=tags)
        chunks = loaded.outputs["chunks"]
        embedded = embed_step(chunks=chunks, collection=collection, batch_size=batch_size)
        # Caching is off: the folder and the database change without an argument changing.
        loaded.set_caching_options(enable_caching=False)
        embedded.set_caching_options(enable_caching=False)
        if on_cluster:
            _give_access(loaded, embedded)

    return dsl.pipeline(pkb_ingest, name="pkb-ingest", description="Folder to searchable chunks")


def _give_access(loaded: Any, embedded: Any) -> None:
    kubernetes.mount_pvc(loaded, pvc_name=VOLUME, mount_path=MOUNT_PATH)
    for task in (loaded, embedded):
        kubernetes.use_secret_as_env(task, secret_name=SECRET, secret_key_to_env=SECRET_KEY_TO_ENV)
        task.set_retry(num_retries=2, backoff_duration="30s")


def compile_pipeline(output: Path, *, images: tuple[str, str] = DEFAULT_IMAGES) -> None:
    """Write the pipeline as YAML for a cluster."""
    compiler.Compiler().compile(build_pipeline(images, on_cluster=True), package_path=str(output))


def run_pipeline(root: Path, **arguments: Any) -> None:
    """Run the pipeline with kfp's local runner; store artifacts below ``root``.

    Raises:
        RuntimeError: A step failed.
    """
    local.init(
        runner=local.SubprocessRunner(use_venv=False), pipeline_root=str(root), raise_on_error=True
    )
    build_pipeline(LOCAL_IMAGES, on_cluster=False)(**arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="pkb's Kubeflow pipeline.")
    actions = parser.add_subparsers(dest="action", required=True)
    compiling = actions.add_parser("compile", help="write the YAML")
    compiling.add_argument("--output", type=Path, default=Path("pipeline.yaml"))
    compiling.add_argument("--load-image", default=DEFAULT_IMAGES[0])
    compiling.add_argument("--embed-image", default=DEFAULT_IMAGES[1])
    running = actions.add_parser("run", help="run it here")
    running.add_argument("--path", required=True)
    running.add_argument("--root", type=Path, required=True, help="where artifacts are kept")
    running.add_argument("--collection", default="default")
    running.add_argument("--tag", action="append", default=[])
    running.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    return parser


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    chosen = _parser().parse_args(arguments)
    if chosen.action == "compile":
        compile_pipeline(chosen.output, images=(chosen.load_image, chosen.embed_image))
        return 0
    try:
        run_pipeline(
            chosen.root,
            path=chosen.path,
            collection=chosen.collection,
            tags=chosen.tag,
            batch_size=chosen.batch_size,
        )
    except RuntimeError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
