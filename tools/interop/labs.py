"""Checks the simulated CML with the official Python client: system, labs, license."""

import sys
import uuid
from pathlib import Path

import httpx
from story import (
    COMPLAINTS,
    MACHINE,
    USERNAME,
    Story,
    equal,
    run_checks,
    log_in,
    fast_polling,
    raises,
    refused,
    topology,
    within,
)
from virl2_client.exceptions import InitializationError, LabNotFound, NodeNotFound
from virl2_client.virl2_client import DiagnosticsCategory

TWO_HOSTS = Path(__file__).with_name("two-hosts.yaml")
GOOD_TOKEN, BAD_TOKEN = MACHINE["good_token"], MACHINE["bad_token"]
# Node limit without a license.
FREE_NODES = 5


class System(Story):
    def refuses_a_wrong_password(self):
        text = raises(InitializationError, lambda: log_in(password="not-the-password"))
        assert "check your username and password" in text, text

    def has_a_self_signed_certificate(self):
        text = raises(httpx.ConnectError, lambda: log_in(ssl_verify=True))
        assert "CERTIFICATE_VERIFY_FAILED" in text, text

    def lets_the_client_log_in_without_a_complaint(self):
        self.client = log_in()

    def returns_its_version(self):
        info = self.client.system_info()
        equal(set(info), {"version", "ready", "allow_ssh_pubkey_auth", "oui"})
        assert info["version"].startswith("2.9."), info
        equal(self.client.is_system_ready(), True)

    def returns_statistics(self):
        stats = self.client.get_system_stats()
        [compute] = within(stats, "computes").values()
        whole = within(stats, "all")
        for kind in ("memory", "disk"):
            parts = within(compute, "stats", kind)
            equal(within(whole, kind), parts)
            assert 0 < parts["used"] + parts["free"] <= parts["total"], parts
        assert 0 <= within(compute, "stats", "cpu", "percent") <= 100
        equal(len(within(compute, "stats", "cpu", "load")), 3)
        for key in ("total_nodes", "total_orphans", "running_nodes", "running_orphans", "allocated_cpus"):
            within(compute, "stats", "dominfo", key)
        within(stats, "controller", "disk", "total")

    def returns_its_health(self):
        health = self.client.get_system_health()
        equal(within(health, "valid"), True)
        within(health, "is_licensed")
        equal(within(health, "controller", "core_connected"), True)
        [compute] = within(health, "computes").values()
        equal(within(compute, "kvm_vmx_enabled"), True)
        equal(within(compute, "admission_state"), "READY")

    def has_one_compute_host_that_can_be_cordoned(self):
        system = self.client.system_management
        [host] = system.compute_hosts.values()
        equal((host.is_connector, host.is_simulator, host.is_connected), (True, True, True))
        equal(system.controller.compute_id, host.compute_id)
        for state in ("ONLINE", "READY"):
            host.admission_state = state
            system.sync_compute_hosts()
            equal(host.admission_state, state)

    def has_notices_and_a_maintenance_mode(self):
        system = self.client.system_management
        system.sync_system_notices()
        equal(system.maintenance_mode, False)
        notice = {"level": "WARNING", "label": "stops at six", "content": "Save what you have.", "enabled": False}
        made = self.client._session.post("system/notices", json=notice).json()
        system.sync_system_notices()
        equal(system.system_notices[made["id"]].label, "stops at six")
        system.maintenance_mode = True
        system.sync_system_notices()
        equal(system.maintenance_mode, True)
        system.maintenance_mode = False
        self.client._session.delete(f"system/notices/{made['id']}")
        system.sync_system_notices()
        assert made["id"] not in system.system_notices

    def has_a_configurable_session_timeout(self):
        system = self.client.system_management
        equal(system.get_web_session_timeout(), 86400)
        # Older clients return the response, newer ones None.
        assert system.set_web_session_timeout(3600) in ("OK", None)
        equal(system.get_web_session_timeout(), 3600)
        system.set_web_session_timeout(86400)

    def lists_its_definitions(self):
        names = {definition["id"] for definition in self.client.definitions.node_definitions()}
        assert {"alpine", "iosv", "external_connector", "unmanaged_switch"} <= names, names
        assert all(image["node_definition_id"] in names for image in self.client.definitions.image_definitions())
        connectors = self.client.system_management.get_external_connectors()
        assert any(connector["label"] == "NAT" for connector in connectors), connectors

    def lists_its_users(self):
        users = self.client.user_management
        [admin] = [user for user in users.users() if user["username"] == USERNAME]
        equal(users.user_id(USERNAME), admin["id"])
        equal(within(users.get_user(admin["id"]), "admin"), True)
        self.client.resource_pool_management.sync_resource_pools()

    def returns_diagnostics(self):
        category = DiagnosticsCategory
        found = self.client.get_diagnostics(category.LICENSING, category.STARTUP_SCHEDULER, category.LABS)
        equal(within(found, "startup_scheduler", "system_ready"), True)
        equal(within(found, "licensing", "quota"), FREE_NODES)
        assert "error" not in found["labs"], found

    def accepts_a_new_login_after_a_logout(self):
        before = self.client._session.auth.token
        equal(self.client.logout(), True)
        self.client.get_lab_list()
        assert self.client._session.auth.token != before
        assert any("re-auth" in complaint for complaint in COMPLAINTS), COMPLAINTS


class Labs(Story):
    other = None

    def imports_a_topology_as_cml_exports_it(self):
        self.client = log_in()
        self.lab = fast_polling(self.client.import_lab_from_path(TWO_HOSTS))
        equal((self.lab.title, self.lab.owner), ("Two hosts", USERNAME))
        equal(self.lab.notes, '## Notes\nFür alle: <b>bold</b> & "quoted"')
        equal(sorted(node.label for node in self.lab.nodes()), ["host-0", "host-1", "outside"])
        equal((len(self.lab.links()), len(self.lab.interfaces())), (2, 4))
        equal([note.text_content for note in self.lab.annotations()], ["Two hosts behind the connector"])
        equal([note.tag for note in self.lab.smart_annotations()], ["serial:5000"])

    def keeps_the_fields_of_its_nodes(self):
        host, other = self.lab.get_node_by_label("host-0"), self.lab.get_node_by_label("host-1")
        equal((host.tags(), host.node_definition), (["serial:5000"], "alpine"))
        equal(host.configuration_files[0]["name"], "node.cfg")
        assert "ip link set up dev eth0" in host.configuration, host.configuration
        equal((other.configuration, other.ram, other.cpu_limit), ("hostname host-1", 256, 80))
        equal(host.get_interface_by_label("eth1").mac_address, "52:54:00:12:34:56")
        equal(self.lab.get_node_by_label("outside").configuration, "NAT")

    def may_be_given_a_title(self):
        named = self.client.import_lab(topology(), title="two hosts & an <outside>")
        equal(named.title, "two hosts & an <outside>")
        named.remove()

    def is_the_same_after_a_sync(self):
        before = {node.id for node in self.lab.nodes()}
        self.lab.sync()
        self.lab.sync(topology_only=False)
        self.lab.sync(exclude_configurations=None)
        equal({node.id for node in self.lab.nodes()}, before)
        host = self.lab.get_node_by_label("host-0")
        equal([peer.label for peer in sorted(host.peer_nodes(), key=lambda peer: peer.label)], ["host-1", "outside"])

    def is_visible_to_other_clients(self):
        self.other = log_in()
        assert self.lab.id in self.other.get_lab_list(show_all=True)
        [found] = self.other.find_labs_by_title("Two hosts")
        equal(found.id, self.lab.id)
        assert self.lab.id in {lab.id for lab in self.other.all_labs(show_all=True)}

    def has_not_started_yet(self):
        equal(self.lab.state(), "DEFINED_ON_CORE")
        equal({node.state for node in self.lab.nodes()}, {"DEFINED_ON_CORE"})
        details = self.lab.details()
        equal((within(details, "node_count"), within(details, "link_count")), (3, 2))
        equal(within(details, "owner_username"), USERNAME)

    def can_be_renamed(self):
        self.lab.title, self.lab.description, self.lab.notes = "renamed", "described", "noted"
        seen = self.other.join_existing_lab(self.lab.id)
        seen.sync()
        equal((seen.title, seen.description, seen.notes), ("renamed", "described", "noted"))
        node = self.lab.get_node_by_label("host-1")
        node.label = "host-one"
        node.add_tag("pat:2022:22")
        seen.sync()
        equal(seen.get_node_by_label("host-one").tags(), ["pat:2022:22"])

    def starts_and_converges(self):
        self.lab.start(wait=True)
        equal(self.lab.has_converged(), True)
        equal(self.lab.is_active(), True)
        equal({node.state for node in self.lab.nodes()}, {"BOOTED"})
        equal({link.state for link in self.lab.links()}, {"STARTED"})
        self.lab.start(wait=True)
        equal({node.is_booted() for node in self.lab.nodes()}, {True})

    def returns_statistics_of_its_nodes(self):
        self.lab.sync_statistics()
        self.lab.sync_layer3_addresses()
        self.lab.sync_operational()
        host = self.lab.get_node_by_label("host-0")
        assert host.cpu_usage >= 0
        [compute] = self.client.system_management.compute_hosts.values()
        equal(within(host.operational, "compute_id"), compute.compute_id)
        assert within(compute.node_counts, "running_nodes") >= 2, compute.node_counts
        equal(self.lab.sync_events(), True)
        assert self.lab.events, "no events"

    def stops_and_starts_one_node(self):
        host = self.lab.get_node_by_label("host-0")
        host.stop(wait=True)
        equal((host.state, self.lab.state()), ("STOPPED", "STARTED"))
        host.wipe(wait=True)
        equal(host.state, "DEFINED_ON_CORE")
        host.start(wait=True)
        equal(host.state, "BOOTED")

    def refuses_its_deletion_while_it_runs(self):
        refused(lambda: self.client._session.delete(f"labs/{self.lab.id}"), 400)
        refused(self.lab.wipe, 400)
        host = self.lab.get_node_by_label("host-0")
        refused(lambda: self.client._session.delete(f"labs/{self.lab.id}/nodes/{host.id}"), 400)

    def is_exported_and_imported_again(self):
        text = self.lab.download()
        assert "\nlab:\n" in text or text.startswith("lab:\n"), text[:200]
        copy = fast_polling(self.client.import_lab(text, title="a copy"))
        equal([note.text_content for note in copy.annotations()], ["Two hosts behind the connector"])
        equal(sorted(node.label for node in copy.nodes()), sorted(node.label for node in self.lab.nodes()))
        assert not {node.id for node in copy.nodes()} & {node.id for node in self.lab.nodes()}
        equal(copy.state(), "DEFINED_ON_CORE")
        copy.remove()

    def stops(self):
        self.lab.stop(wait=True)
        equal(self.lab.state(), "STOPPED")
        equal({node.state for node in self.lab.nodes()}, {"STOPPED"})
        refused(lambda: self.client._session.delete(f"labs/{self.lab.id}"), 400)

    def is_wiped(self):
        self.lab.wipe(wait=True)
        equal(self.lab.state(), "DEFINED_ON_CORE")
        equal({node.state for node in self.lab.nodes()}, {"DEFINED_ON_CORE"})

    def removes_one_node(self):
        theirs = self.other.join_existing_lab(self.lab.id)
        theirs.auto_sync = False
        host = theirs.get_node_by_label("host-one")
        self.lab.remove_node(self.lab.get_node_by_label("host-one"))
        self.lab.sync()
        equal((len(self.lab.nodes()), len(self.lab.links())), (2, 1))
        raises(NodeNotFound, host.start)
        theirs.sync()
        equal(len(theirs.nodes()), 2)

    def is_deleted(self):
        theirs = self.other.join_existing_lab(self.lab.id)
        lab_id = self.lab.id
        self.lab.remove()
        raises(LabNotFound, theirs.state)
        raises(LabNotFound, lambda: log_in().join_existing_lab(lab_id))
        assert lab_id not in self.client.get_lab_list(show_all=True)

    def can_be_created_empty(self):
        lab = self.client.create_lab("empty", description="nothing in it")
        equal((lab.title, lab.description, lab.nodes()), ("empty", "nothing in it", []))
        lab.sync()
        lab.remove()
        default = self.client.create_lab()
        assert default.title.startswith("Lab at "), default.title
        default.remove()

    def refuses_an_invalid_topology(self):
        refused(lambda: self.client.import_lab("this: is\nno: topology\n"), 400)
        refused(lambda: self.client.import_lab("{ [ neither YAML"), 400)
        refused(lambda: self.client.import_lab(topology().replace("0.3.0", "9.9.9")), 400)

    def refuses_unknown_labs_with_the_message_of_cml(self):
        unknown = str(uuid.uuid4())
        refused(lambda: self.client._session.get(f"labs/{unknown}"), 404, f"Lab not found: {unknown}")
        refused(lambda: self.client._session.get("no/such/path"), 404)


class License(Story):
    def is_not_registered_at_first(self):
        self.client = log_in()
        status = self.client.licensing.status()
        equal(within(status, "registration", "status"), "NOT_REGISTERED")
        for path in (("udi", "product_uuid"), ("product_license", "active"), ("transport", "default_ssms")):
            within(status, *path)
        equal(self.client.get_system_health()["is_licensed"], False)
        refused(self.client.licensing.deregister, 400)

    def runs_few_nodes_without_one(self):
        self.lab = fast_polling(self.client.import_lab(topology(FREE_NODES + 1, "one too many")))
        refused(self.lab.start, 400)
        few = fast_polling(self.client.import_lab(topology(FREE_NODES, "just enough")))
        few.start(wait=True)
        equal(few.is_active(), True)
        few.stop(wait=True)
        few.wipe(wait=True)
        few.remove()

    def accepts_a_product_and_a_transport(self):
        licensing = self.client.licensing
        equal(licensing.set_default_transport(), True)
        if licensing.status()["product_license"]["active"] != "CML_Enterprise":
            equal(licensing.set_product_license("CML_Enterprise"), True)
        refused(lambda: licensing.set_product_license("CML_Enterprise"), 400)
        equal(licensing.status()["product_license"], {"active": "CML_Enterprise", "is_enterprise": True})

    def explains_why_a_token_is_refused(self):
        licensing = self.client.licensing
        equal(licensing.register(BAD_TOKEN), True)
        licensing.wait_for_status("registration", "FAILED", "RETRY_IN_PROGRESS")
        failure = within(licensing.status(), "registration", "register_time", "failure")
        assert BAD_TOKEN in failure, failure

    def registers(self):
        licensing = self.client.licensing
        equal(licensing.register(GOOD_TOKEN, reregister=True), True)
        refused(lambda: licensing.register(GOOD_TOKEN), 409)
        licensing.wait_for_status("registration", "COMPLETED")
        licensing.wait_for_status("authorization", "IN_COMPLIANCE")
        equal(self.client.get_system_health()["is_licensed"], True)
        equal(within(licensing.status(), "registration", "register_time", "success"), "SUCCESS")

    def counts_features(self):
        licensing = self.client.licensing
        [nodes] = [feature for feature in licensing.features() if "CML_NODE_COUNT" in feature["id"]]
        licensing.update_features([{"id": nodes["id"], "count": 10}])
        [after] = [feature for feature in licensing.features() if feature["id"] == nodes["id"]]
        equal(after["in_use"], 10)
        equal(self.client.get_diagnostics(DiagnosticsCategory.LICENSING)["licensing"]["quota"], 30)

    def runs_more_nodes_with_it(self):
        self.lab.start(wait=True)
        equal({node.state for node in self.lab.nodes()}, {"BOOTED"})
        self.lab.stop(wait=True)
        self.lab.wipe(wait=True)
        self.lab.remove()

    def renews(self):
        equal(self.client.licensing.renew_authorization(), True)
        equal(self.client.licensing.register_renew(), True)
        self.client.licensing.wait_for_status("registration", "COMPLETED")
        self.client.licensing.wait_for_status("authorization", "IN_COMPLIANCE")
        assert self.client.licensing.tech_support()

    def is_returned(self):
        equal(self.client.licensing.deregister(), 204)
        equal(self.client.licensing.status()["registration"]["status"], "NOT_REGISTERED")
        refused(self.client.licensing.deregister, 400)
        equal(self.client.get_system_health()["is_licensed"], False)

    def can_be_registered_with_register_wait(self):
        equal(self.client.licensing.register_wait(GOOD_TOKEN), True)
        equal(self.client.licensing.deregister(), 204)


if __name__ == "__main__":
    may_complain = {System.refuses_a_wrong_password, System.accepts_a_new_login_after_a_logout}
    sys.exit(0 if run_checks([System, Labs, License], may_complain) else 1)
