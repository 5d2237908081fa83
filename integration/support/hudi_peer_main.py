"""Real Hudi in a process of its own: one JSON object a line on standard input, one answer a line on standard output.

Runs with PySpark 3.5 and a release's bundle, which another PySpark is in the way of; started by ``hudi_peer.py``.
"""

from __future__ import annotations

import json
import os
import sys
import traceback


def start(jars: str, scratch: str):
    from pyspark.sql import SparkSession

    log = os.path.join(scratch, "log4j2.properties")
    with open(log, "w") as stream:
        stream.write("rootLogger.level=off\n")
    java = (
        f"-Duser.timezone=UTC -Dlog4j.configurationFile=file:{log} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        "-Djol.skipHotspotSAAttach=true -Djol.skipDynamicAttach=true "
        # What the bloom index gives to its tasks where it asks the metadata table.
        "--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED"
    )
    settings = {
        "spark.jars": jars.replace(os.pathsep, ","),
        "spark.driver.extraClassPath": jars,
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": java,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": os.path.join(scratch, "local"),
        "spark.sql.warehouse.dir": os.path.join(scratch, "warehouse"),
        **{f"spark.hadoop.{name}": value for name, value in json.loads(os.environ["HUDI_PEER_HADOOP"]).items()},
    }
    builder = SparkSession.builder.master("local[2]").appName("hudi-peer")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    for name, source in json.loads(os.environ["HUDI_PEER_CLASSES"]).items():
        add_class(session.sparkContext._jvm, name, source)
    return session


def add_class(jvm, name: str, source: str) -> None:
    """Compile a class and put it among those that Hudi has looked for by their names."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cookFile(source)
    known = jvm.java.lang.Class.forName("org.apache.hudi.common.util.ReflectionUtils").getDeclaredField("CLAZZ_CACHE")
    known.setAccessible(True)
    known.get(None).put(name, compiler.getClassLoader().loadClass(name))


def answer(session, request: dict) -> object:
    if request["do"] == "write":
        lines = session.sparkContext.parallelize([json.dumps(row) for row in request["rows"]], 1)
        frame = session.read.schema(request["schema"]).json(lines)
        frame.write.format("hudi").options(**request["options"]).mode(request["mode"]).save(request["path"])
        return None
    if request["do"] == "read":
        frame = session.read.format("hudi").options(**request["options"]).load(request["path"])
        return [json.loads(line) for line in frame.selectExpr(*request["columns"]).toJSON().collect()]
    if request["do"] == "sql":
        return [row.asDict(recursive=True) for row in session.sql(request["text"]).collect()]
    if request["do"] == "compare_metadata":
        from hudi_peer_metadata import Comparison

        return Comparison(session, request["path"], request["release"]).run()
    raise ValueError(request["do"])


def shortened(text: str) -> str:
    """What went wrong and why, without most of where."""
    lines = [line for line in text.splitlines() if line.strip()]
    causes = [at for at, line in enumerate(lines) if at and line.startswith("Caused by")]
    kept = lines[:2] + [line for at in dict.fromkeys(causes) for line in lines[at : at + 4]]
    return "\n".join(line[:400] for line in kept)[-3000:]


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing but answers on standard output
    session = start(*sys.argv[1:])
    print(json.dumps({"ok": session.version}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            got = {"ok": answer(session, json.loads(line))}
        except Exception as error:  # told to the one who asked
            got = {"error": shortened(str(error).strip() or traceback.format_exc())}
        print(json.dumps(got, default=str), file=answers, flush=True)
    session.stop()


if __name__ == "__main__":
    main()
