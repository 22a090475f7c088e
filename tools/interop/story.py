"""Runs checks with the official Python client of CML.

Every check prints one line, and the last line counts them. A failed check does not stop later ones.
"""

import inspect
import json
import logging
import os
import traceback

import virl2_client
from virl2_client.exceptions import APIError
from virl2_client.models.licensing import Licensing

MACHINE = json.loads(os.environ["CML_MACHINE"])
URL, USERNAME, PASSWORD = MACHINE["url"], MACHINE["username"], MACHINE["password"]
POLL_SECONDS = 0.1
POLLS_MAX = 200

# Warnings in the log of the client count as failures.
COMPLAINTS = []


class Complaints(logging.Handler):
    def emit(self, record):
        COMPLAINTS.append(record.getMessage())


logging.getLogger("virl2_client").addHandler(Complaints(level=logging.WARNING))
logging.getLogger("virl2_client").propagate = False
# The default timeouts are for servers that take minutes.
Licensing.wait_interval = POLL_SECONDS
Licensing.max_wait = POLLS_MAX


def log_in(password=PASSWORD, ssl_verify=False):
    client = virl2_client.ClientLibrary(
        URL,
        USERNAME,
        password,
        ssl_verify=ssl_verify,
        raise_for_auth_failure=True,
        convergence_wait_time=POLL_SECONDS,
    )
    client.auto_sync_interval = 0.0
    return client


def fast_polling(lab):
    """An imported lab does not inherit the polling options of its client."""
    lab.wait_time = POLL_SECONDS
    lab.wait_max_iterations = POLLS_MAX
    lab.auto_sync_interval = 0.0
    return lab


def refused(call, status, text=""):
    """Message of the refusal."""
    try:
        answer = call()
    except APIError as error:
        assert error.response.status_code == status, f"{error.response.status_code} instead of {status}: {error}"
        assert text in str(error), f"{text!r} is not in {error}"
        return str(error)
    raise AssertionError(f"was not refused but answered {answer!r}")


def raises(kind, call):
    try:
        answer = call()
    except kind as error:
        return str(error)
    raise AssertionError(f"did not raise {kind.__name__} but answered {answer!r}")


def equal(actual, expected):
    assert actual == expected, f"{actual!r} instead of {expected!r}"


def within(whole, *keys):
    """Value at a path, which must exist."""
    for key in keys:
        assert key in whole, f"{key!r} is missing among {list(whole)}"
        whole = whole[key]
    return whole


def topology(count=2, title="two hosts"):
    """A chain of hosts behind one external connector."""
    nodes = [
        {
            "id": f"n{index}",
            "label": f"host-{index}",
            "node_definition": "alpine",
            "x": index * 100,
            "y": 0,
            "tags": [f"serial:{5000 + index}"] if index == 0 else [],
            "configuration": f"hostname host-{index}\n",
            "interfaces": [
                {"id": "i0", "label": "eth0", "slot": 0, "type": "physical"},
                {"id": "i1", "label": "eth1", "slot": 1, "type": "physical"},
            ],
        }
        for index in range(count)
    ]
    connector = {
        "id": "out",
        "label": "outside",
        "node_definition": "external_connector",
        "x": 0,
        "y": 100,
        "configuration": "NAT",
        "interfaces": [{"id": "i0", "label": "port", "slot": 0, "type": "physical"}],
    }
    links = [
        {"id": f"l{index}", "n1": f"n{index}", "i1": "i1", "n2": f"n{index + 1}", "i2": "i0"}
        for index in range(count - 1)
    ]
    links.append({"id": "up", "n1": "n0", "i1": "i0", "n2": "out", "i2": "i0"})
    lab = {"version": "0.3.0", "title": title, "description": "made by hand", "notes": ""}
    # JSON is valid YAML.
    return json.dumps({"lab": lab, "nodes": [*nodes, connector], "links": links})


class Story:
    """State that checks share. They run in the order of their definition."""

    client = None
    lab = None


def checks_of(story):
    methods = [method for name, method in vars(story).items() if inspect.isfunction(method) and not name.startswith("_")]
    return sorted(methods, key=lambda method: method.__code__.co_firstlineno)


def run_checks(stories, may_complain):
    """Returns whether all checks passed."""
    passed = failed = 0
    for story in stories:
        state = story()
        for check in checks_of(story):
            name = f"{story.__name__.lower()}: {check.__name__.replace('_', ' ')}"
            COMPLAINTS.clear()
            try:
                check(state)
                # The simulator has another port than 443 and a self-signed certificate.
                odd = [each for each in COMPLAINTS if "443" not in each and "SSL Verification disabled" not in each]
                assert not odd or check in may_complain, f"the client complained: {odd}"
                passed += 1
                print(f"ok  {name}", flush=True)
            except Exception as error:
                failed += 1
                where = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{os.path.basename(where.filename)}:{where.lineno}"
                text = " ".join(str(error).split())
                print(f"FAILED  {name}: {type(error).__name__}: {text} ({place})", flush=True)
    print(f"{passed} passed, {failed} failed", flush=True)
    return failed == 0
