"""action.yml as a release has it: running the published image instead of building the Dockerfile.

    python scripts/release_action.py IMAGE@sha256:DIGEST [--out FILE]

The image is named by its digest, so that nobody, the registry included, can put another one in
its place. Nothing else differs from action.yml, comments and order included. Written to
standard output unless `--out` names a file.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCKERFILE = "  image: Dockerfile\n"
IMAGE = re.compile(r"[a-z0-9][a-z0-9.:-]*(?:/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}")


def release_action(source: str, image: str) -> str:
    """`source` with the published image in the place of the Dockerfile."""
    if not IMAGE.fullmatch(image):
        raise ValueError(f"{image}: an image is named as REGISTRY/NAME@sha256:DIGEST")
    if source.count(DOCKERFILE) != 1:
        raise ValueError(f"action.yml must say {DOCKERFILE.strip()!r} exactly once")
    return source.replace(DOCKERFILE, f"  image: docker://{image}\n")


def main() -> int:
    """Writes the variant; 2 where it cannot be made."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("image", help="with its digest")
    parser.add_argument("--out", type=Path, help="a file to write")
    options = parser.parse_args()
    try:
        text = release_action((ROOT / "action.yml").read_text(encoding="utf-8"), options.image)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if options.out is None:
        sys.stdout.write(text)
    else:
        options.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
