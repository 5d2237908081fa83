# Plain PySpark with hudi_hive, installed from its wheel: no Hudi bundle on the class path. Build from the project's root.
FROM python:3.11-slim-bookworm AS wheel
WORKDIR /src
COPY setup.cfg pyproject.toml README.md LICENSE ./
COPY hudi_hive ./hudi_hive
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim-bookworm
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home hudi \
    && install --directory --owner 1000 /lake
WORKDIR /opt/hudi_hive
COPY requirements.lock ./
COPY --from=wheel /wheels ./wheels
RUN wheel="$(ls wheels/*.whl)" \
    && pip install --no-cache-dir --constraint requirements.lock "${wheel}[spark,hive,duckdb,aws,ui,metrics]"
# What Spark's own reader needs for tables on S3; of the release of Hadoop in PySpark's jars.
ADD --chmod=644 https://repo1.maven.org/maven2/org/apache/hadoop/hadoop-aws/3.5.0/hadoop-aws-3.5.0.jar /opt/s3a/
ADD --chmod=644 https://repo1.maven.org/maven2/software/amazon/awssdk/bundle/2.35.4/bundle-2.35.4.jar /opt/s3a/
ADD --chmod=644 https://repo1.maven.org/maven2/software/amazon/s3/analyticsaccelerator/analyticsaccelerator-s3/1.3.1/analyticsaccelerator-s3-1.3.1.jar /opt/s3a/
USER 1000
WORKDIR /home/hudi
ENTRYPOINT ["hudi-hive"]
CMD ["--help"]
