# The image behind action.yml.
# A release pins the base by digest: --build-arg PYTHON_IMAGE=docker.io/library/python:3.12-slim-bookworm@sha256:…
ARG PYTHON_IMAGE=docker.io/library/python:3.12-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
# UV_SYSTEM_CERTS: companies' own certificate authorities live in the system store.
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 \
    UV_NO_CACHE=1 UV_SYSTEM_CERTS=1 UV_PYTHON_DOWNLOADS=never
WORKDIR /build
COPY requirements/ requirements/
# uv checks the same hashes as pip and needs seconds where pip needs minutes: runners build
# an action's Dockerfile anew for every job.
RUN python -m venv tools \
 && tools/bin/pip install --quiet --require-hashes -r requirements/build.lock \
 && python -m venv --without-pip /opt/gatekeeper
COPY docker/prune.py docker/
RUN tools/bin/uv pip install --quiet --python /opt/gatekeeper/bin/python --require-hashes --no-deps \
      -r requirements/runtime.lock \
 && python docker/prune.py /opt/gatekeeper/lib/python3*/site-packages
COPY pyproject.toml README.md ./
COPY gatekeeper/ gatekeeper/
RUN tools/bin/python -m hatchling build --target wheel --directory dist \
 && tools/bin/uv pip install --quiet --python /opt/gatekeeper/bin/python --no-deps dist/*.whl
COPY docker/rehearse.py docker/
RUN LITELLM_LOCAL_MODEL_COST_MAP=True /opt/gatekeeper/bin/python -I docker/rehearse.py /byte-code

FROM ${PYTHON_IMAGE}
ARG VERSION=unreleased
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="Gatekeeper" \
      org.opencontainers.image.description="A pull-request gate for prompts" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
# git's scripts in Perl (send-email, svn, gitweb) are not used: without Perl's library git takes
# 50 MB instead of 100. The workspace belongs to another user than the container's: git must be
# told that this is expected.
RUN if ! command -v git >/dev/null; then \
      apt-get update -q \
      && apt-get install -y -q --no-install-recommends \
        -o 'Dpkg::Options::=--path-exclude=/usr/share/perl/*' \
        -o 'Dpkg::Options::=--path-exclude=/usr/lib/*/perl/*' \
        -o 'Dpkg::Options::=--path-exclude=/usr/share/gitweb/*' \
        git \
      && rm -rf /var/lib/apt/lists/*; \
    fi \
 && git config --system --add safe.directory '*'
# Python's own library comes without byte code in the official images.
COPY --from=build /byte-code/ /
COPY --from=build /opt/gatekeeper /opt/gatekeeper
ENV PYTHONDONTWRITEBYTECODE=1 LITELLM_LOCAL_MODEL_COST_MAP=True
# No USER and no WORKDIR: the runner sets both up. -I keeps the checked-out repository, which is
# the working folder, off the import path: nothing of a pull request may be executed.
ENTRYPOINT ["/opt/gatekeeper/bin/python", "-I", "-B", "-u", "-m", "gatekeeper.action"]
