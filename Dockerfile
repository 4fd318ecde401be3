FROM python:3.11-slim AS base
ENV PYTHONUNBUFFERED=1 APP_HOST=0.0.0.0 PKB_DATA_DIR=/var/lib/pkb PKB_MODEL_DIR=/opt/pkb/models
ENV PIP_NO_CACHE_DIR=1 UV_NO_CACHE=1 UV_COMPILE_BYTECODE=1 PATH="/app/.venv/bin:$PATH"
WORKDIR /app
COPY pyproject.toml uv.lock requirements.txt ./
COPY scripts/install scripts/install
RUN scripts/install
COPY manage.py LICENSE NOTICE ./
COPY pkb pkb
COPY corpus corpus
COPY accounts accounts
COPY qa qa
COPY evaluation evaluation
COPY web web
COPY data data
# What is exported of models is in the image; what else this would leave behind, a key, is not.
RUN PKB_DATA_DIR=/tmp/build python manage.py load_models && rm -rf /tmp/build
# The Helm chart names the user by this number.
RUN useradd --system --uid 999 --create-home pkb && mkdir -p -m 700 /var/lib/pkb && chown pkb /var/lib/pkb

# The steps of pipelines/pipeline.py. kfp is in the image, so that a step installs nothing; it has
# an environment of its own, whose python3 is the first, because its pins are not the service's.
FROM base AS step
RUN scripts/install pipelines
ENV PATH="/app/.venv-pipelines/bin:$PATH" PIPELINE_MANAGE="/app/.venv/bin/python /app/manage.py"
USER pkb

FROM step AS load
ENTRYPOINT ["/app/.venv/bin/python", "/app/manage.py", "load"]

FROM step AS embed
ENTRYPOINT ["/app/.venv/bin/python", "/app/manage.py", "embed"]

FROM base AS web
USER pkb
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/ready')"]
CMD ["sh", "-c", "python manage.py migrate --verbosity 0 && python manage.py ensure_superuser && exec python manage.py serve"]
