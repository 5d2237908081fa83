# The Hive metastore 3.1.3 with a PostgreSQL driver and S3A: Spark's built-in Hive client can talk to it (not to 4.x).
FROM debian:bookworm-slim AS driver
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libpostgresql-jdbc-java \
    && rm -rf /var/lib/apt/lists/*

FROM apache/hive:3.1.3
COPY --from=driver --chown=hive:hive /usr/share/java/postgresql.jar /opt/hive/lib/postgresql.jar
# Hadoop's own jars for S3 lie beside its tools; the settings take the keys from the environment.
ENV HADOOP_OPTIONAL_TOOLS=hadoop-aws
COPY --chown=hive:hive core-site.xml /opt/hadoop/etc/hadoop/core-site.xml
COPY --chmod=755 metastore.sh /
# A new volume belongs to whom its folder in the image belongs to: here the user 1000 (hive), as in the other image.
USER root
RUN install --directory --owner 1000 /lake
USER 1000
ENTRYPOINT ["/metastore.sh"]
