"""What stands in manifests of Kubernetes, and in files that scripts write."""

from __future__ import annotations

from distlint.launch.manifests import pods_of
from distlint.launch.written import written_by

POD = """\
kind: StatefulSet
spec:
  replicas: 2
  template:
    spec:
      containers:
        - resources:
            limits:
              nvidia.com/gpu: 4
          env:
            - name: PORT
              value: "29500"
          command: [bash, -lc]
          args:
            - |
              cd /work
              torchrun --nproc_per_node=4 train.py
"""


def test_a_pod_has_its_commands_at_their_places_and_what_it_is_given() -> None:
    (pod,) = pods_of("pod.yaml", POD)
    change, launch = pod.commands
    assert [word.text for word in change.words] == ["cd", "/work"]
    assert (launch.words[1].place.line, launch.words[1].place.column) == (17, 23)
    assert launch.environment["PORT"].text == "29500"
    assert {name: word.text for name, word in pod.given.items()} == {
        "nodes": "2",
        "gpus_per_node": "4",
    }


def test_what_an_alias_names_is_read_once() -> None:
    lines = ["a0: &a0 {containers: [{command: [torchrun, train.py]}]}"]
    lines += [
        f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]" for number in range(1, 30)
    ]
    assert len(list(pods_of("many.yaml", "\n".join(lines)))) == 1


def test_what_is_no_yaml_has_no_pods() -> None:
    assert list(pods_of("chart.yaml", "{{- if .Values.gpu }}\ncontainers: [\n")) == []
    assert list(pods_of("deep.yaml", "[" * 50_000)) == []


def test_a_file_that_a_script_writes_keeps_its_lines() -> None:
    text = 'set -e\ncat > "conf/zero.json" << EOF\n{"a": 1}\nEOF\ncat > b.json << EOF\n{"a": $A}\nEOF\n'
    (written,) = written_by("scripts/run.sh", text)
    assert written.path == "scripts/conf/zero.json"
    assert written.text == '\n\n{"a": 1}\n'
