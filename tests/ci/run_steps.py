"""Runs the shell steps of a composite action or the script of a GitLab job: run_steps.py FILE NAME=VALUE... Prints what they print.

Of an action, inputs are given as input.NAME=VALUE and the context as github.NAME=VALUE; other inputs take their defaults. Steps that use other
actions are printed as "uses: ...". Of a GitLab file, the one job's variables may be overridden by NAME=VALUE. Exit status: that of the step that
failed, as a runner would have it; a step that may fail does not count.
"""
import os
import re
import subprocess
import sys
import tempfile

import yaml

path, given = sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2:])
document = yaml.safe_load(open(path))
scratch = tempfile.mkdtemp(dir=os.environ.get("RUNNER_TEMP"))


def bash(script, environment):
    return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], env={**os.environ, **environment}).returncode


def lines_of(file):
    return dict(line.split("=", 1) for line in open(file).read().splitlines())


if "runs" in document:
    inputs = {name: given.get("input." + name, i.get("default")) for name, i in document["inputs"].items()}
    missing = [name for name, i in document["inputs"].items() if i.get("required") and inputs[name] is None]
    if missing:
        sys.exit(f"missing inputs: {missing}")
    outputs = {}
    summary = given.get("summary", os.path.join(scratch, "summary"))

    def expanded(text):
        text = str(text)

        def value(match):
            expression = match[1].strip()
            if expression.startswith("github."):
                return given.get(expression, "")
            if expression.startswith("inputs."):
                return expanded(inputs[expression[7:]])
            step, name = re.fullmatch(r"steps\.([\w-]+)\.outputs\.([\w-]+)", expression).groups()
            return outputs.get(step, {}).get(name, "")

        return re.sub(r"\$\{\{(.*?)\}\}", value, text)

    def wanted(step):
        """Of `if:` only what the action uses: comparisons of strings joined by &&."""
        return all(eval(part) for part in expanded_condition(step.get("if", "")))

    def expanded_condition(condition):
        inner = re.fullmatch(r"\$\{\{(.*)\}\}", condition.strip())
        names = re.compile(r"(?:inputs|steps|github)\.[\w.-]+")
        return [names.sub(lambda m: repr(expanded("${{ " + m[0] + " }}")), part) for part in inner[1].split("&&")] if inner else []

    status = 0
    for step in document["runs"]["steps"]:
        if not wanted(step):
            continue
        if "uses" in step:
            print("uses:", step["uses"], {k: expanded(v) for k, v in step.get("with", {}).items()}, flush=True)
            continue
        assert "${{" not in step["run"], "a script has to take what comes from outside through its environment"
        out = os.path.join(scratch, "output")
        open(out, "w").close()
        environment = {name: expanded(value) for name, value in step.get("env", {}).items()}
        status = bash(step["run"], {**environment, "GITHUB_OUTPUT": out, "GITHUB_STEP_SUMMARY": summary, "RUNNER_TEMP": os.environ.get("RUNNER_TEMP", scratch)})
        outputs[step.get("id", "")] = lines_of(out)
        if status and not step.get("continue-on-error"):
            break
        status = 0
    for name, output in document["outputs"].items():
        print(f"output {name}: {expanded(output['value'])}")
    sys.exit(status)

(job,) = (j for name, j in document.items() if "script" in j)
environment = {**job["variables"], **given}
sys.exit(bash("\n".join(job["script"]), environment))
