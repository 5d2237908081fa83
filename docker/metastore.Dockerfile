# The Hive metastore 3.1.3 with a PostgreSQL driver: Spark's built-in Hive client can talk to it (not to 4.x).
FROM debian:bookworm-slim AS driver
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libpostgresql-jdbc-java \
    && rm -rf /var/lib/apt/lists/*

FROM apache/hive:3.1.3
COPY --from=driver --chown=hive:hive /usr/share/java/postgresql.jar /opt/hive/lib/postgresql.jar
