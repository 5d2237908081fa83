# Plain PySpark with hudi_hive: no Hudi bundle on the class path. Build from the project's root folder.
FROM python:3.11-slim-bookworm
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home hudi
WORKDIR /opt/hudi_hive
COPY requirements.lock setup.cfg pyproject.toml README.md LICENSE ./
COPY hudi_hive ./hudi_hive
RUN pip install --no-cache-dir --constraint requirements.lock ".[spark,hive,duckdb]"
USER hudi
WORKDIR /home/hudi
ENTRYPOINT ["hudi-hive"]
CMD ["--help"]
