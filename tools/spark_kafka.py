"""Spark's own connector for Kafka, to measure against: fetched with Maven.

    from spark_kafka import connector_jars

There is none for Spark 4.3 to be had. That of 4.2 runs on it, with a part of 4.0 that is only asked
when brokers want delegation tokens.
"""

from __future__ import annotations

from pathlib import Path

from kafka_broker import cache, fetched

_VERSION = "4.2.0"
_PARTS = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", _VERSION),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
)
_DEPENDENCY = """\
    <dependency>
      <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
      <exclusions>
        <exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>
      </exclusions>
    </dependency>
"""
_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>narrows</groupId><artifactId>spark-kafka</artifactId><version>1</version>
  <dependencies>
{"".join(_DEPENDENCY.format(*part) for part in _PARTS)}
  </dependencies>
</project>
"""


def connector_jars() -> list[Path]:
    """Its jars, for `spark.jars` or the driver's class path."""
    folder = fetched(cache().parent / f"spark-kafka-{_VERSION}", _POM)
    return sorted(folder.glob("*.jar"))
