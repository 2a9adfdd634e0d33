"""Brokers of former releases, downloaded by Maven."""

from pathlib import Path
from typing import Final

from tests.support.java import cache_root

RELEASES: Final = ("3.2.6", "4.3.2", "5.0.0")
_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>routebook</groupId>
  <artifactId>release</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>{group}</groupId><artifactId>rocketmq-broker</artifactId><version>{release}</version></dependency>
  </dependencies>
</project>
"""
# Java 17: brokers before 4.9 free mapped files by reflection
FLAGS: Final = tuple(
    f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "sun.nio.ch", "jdk.internal.ref")
)


def group_of(release: str) -> str:
    """The Maven group, which is also the first part of the class names."""
    return "com.alibaba.rocketmq" if release.startswith("3.") else "org.apache.rocketmq"


def project_of(release: str) -> Path:
    """A folder with the Maven project of a release."""
    folder = cache_root() / "poms" / f"release-{release}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(_POM.format(group=group_of(release), release=release))
    return folder


def make_home(folder: Path) -> Path:
    """A home with the log settings without which brokers before 5 do not start."""
    (folder / "conf").mkdir(parents=True)
    (folder / "conf" / "logback_broker.xml").write_text("<configuration/>\n")
    return folder
