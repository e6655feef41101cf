#!/usr/bin/python3
"""Tests `gh-advise serve`: serve_test.py PROGRAM FIXTURES"""
import contextlib
import http.client
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

program, fixtures = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1))


@contextlib.contextmanager
def serving(*arguments):
    """A server, its port, and the path of the page, which only who started it knows."""
    with subprocess.Popen([program, "serve", *arguments], cwd=fixtures, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as server:  # which a job in the background ignores
        try:
            address = server.stdout.readline()
            _, port, path = re.fullmatch(r"(http://127\.0\.0\.1:(\d+))(/[0-9a-f]{32}/)\n", address).groups()
            yield server, int(port), path
        finally:
            server.kill()


def ask(port, path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{port}"})
    answer = connection.getresponse()
    return answer.status, answer.read(), dict(answer.getheaders())


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gh-advise-serve-")
        cls.page = pathlib.Path(cls.folder.name, "page.html")
        cls.page.write_bytes(b"<!doctype html>\n<p>" + b"x" * 3_000_000)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_page_and_nothing_else(self):
        with serving("--page", str(self.page)) as (_, port, path):
            status, body, headers = ask(port, path)
            self.assertEqual((status, body), (200, self.page.read_bytes()))
            self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
            self.assertEqual(ask(port, path, "HEAD")[:2], (200, b""))
            self.assertEqual(ask(port, path, "POST")[0], 404)

    def test_who_does_not_know_the_address_gets_nothing_of_the_page(self):
        with serving("--page", str(self.page)) as (_, port, path):
            other = path[:-2] + ("0" if path[-2] != "0" else "1") + "/"
            for guessed in ("/", "//", "/page.html", "/../etc/passwd", "/favicon.ico", "*", path[:-1], path[:-2], path + "x", path.upper() + "x",
                            path + "?", "/" + path, other, "/?" + path, f"http://127.0.0.1:{port}{path}"):
                status, body, _ = ask(port, guessed)
                self.assertEqual(status, 404, guessed)
                self.assertNotIn(path.strip("/").encode(), body)
                self.assertLess(len(body), 100)
            self.assertEqual(ask(port, path)[0], 200)
        with serving("--page", str(self.page)) as (_, _, another):
            self.assertNotEqual(another, path)

    @unittest.skipUnless(os.geteuid() == 0, "only root can ask as another user")
    def test_another_user_who_read_the_address_is_refused(self):
        with serving("--page", str(self.page)) as (_, port, path):
            ask_once = "import http.client, sys; c = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2])); c.request('GET', sys.argv[3], headers={'Host': '127.0.0.1'}); print(c.getresponse().status)"
            for address in ("127.0.0.1", "::ffff:127.0.0.1"):  # the same, from a socket of IPv6
                for user, status in ((65534, "403"), (os.geteuid(), "200")):
                    with self.subTest(address=address, user=user):
                        asked = subprocess.run(["/usr/bin/python3", "-c", ask_once, address, str(port), path], user=user, capture_output=True, text=True)
                        self.assertEqual(asked.stdout.strip(), status, asked.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can ask as another user")
    def test_another_user_who_says_nothing_holds_no_place(self):
        hold = "import socket, sys; held = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for _ in range(100)]; print(flush=True); sys.stdin.read()"
        with serving("--page", str(self.page)) as (_, port, path):
            with subprocess.Popen(["/usr/bin/python3", "-c", hold, str(port)], user=65534, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
                self.assertEqual(other.stdout.readline(), b"\n")
                self.assertEqual(ask(port, path)[0], 200)

    def test_no_other_page_may_frame_it_and_no_link_tells_its_address(self):
        with serving("--page", str(self.page)) as (_, port, path):
            for asked in (path, "/"):
                headers = ask(port, asked)[2]
                self.assertEqual(headers["Content-Security-Policy"], "frame-ancestors 'none'")
                self.assertEqual(headers["X-Frame-Options"], "DENY")
                self.assertEqual(headers["Referrer-Policy"], "no-referrer")

    def test_a_report_is_served_as_its_page(self):
        with serving("starved.sqlite", "--config", "none") as (_, port, path):
            page = ask(port, path)[1]
        html = subprocess.run([program, "check", "starved.sqlite", "--config", "none", "--format", "html"], cwd=fixtures, capture_output=True).stdout
        self.assertEqual(page, html)

    def test_ranks_of_a_job_have_one_page(self):
        ranks = ["two-experts.rank0.pt.trace.json", "two-experts.rank1.pt.trace.json"]
        with serving(*ranks, "--config", "none") as (_, port, path):
            page = ask(port, path)[1]
        self.assertIn(b"rank 1", page)

    def test_only_this_machine_is_answered_and_only_by_its_name(self):
        with serving("--page", str(self.page)) as (_, port, path):
            self.assertEqual(ask(port, path, host=f"localhost:{port}")[0], 200)
            self.assertEqual(ask(port, path, host="evil.example")[0], 403)
            self.assertEqual(ask(port, path, host="127.0.0.1.evil.example")[0], 403)
            self.assertEqual(ask(port, path, host="LOCALHOST:9000")[0], 200)  # as through ssh -L 9000:...
            # All of 127.0.0.0/8 is this machine. A server that listened to more than the one address would also answer at this.
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.2", port), timeout=2)

    def test_who_says_nothing_or_too_much_does_not_stop_it(self):
        with serving("--page", str(self.page)) as (_, port, path):
            for said in (b"", b"\r\n\r\n", b" \r\n\r\n", b"\r\nHost: localhost\r\n\r\n", b"GET \r\nHost: localhost\r\n\r\n", b"GET / HTTP/1.1\r\n", b"x" * 100_000, b"\0" * 70_000):
                with socket.create_connection(("127.0.0.1", port)) as client, contextlib.suppress(OSError):
                    client.sendall(said)
                    client.shutdown(socket.SHUT_WR)
                    client.settimeout(10)
                    while client.recv(65536):
                        pass
            self.assertEqual(ask(port, path)[0], 200)

    def test_clients_that_wait_do_not_hold_up_others(self):
        with serving("--page", str(self.page)) as (_, port, path), contextlib.ExitStack() as idle:
            for _ in range(20):
                idle.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
            connection.request("GET", path)
            self.assertEqual(connection.getresponse().status, 200)

    def test_a_port_that_is_asked_for_and_one_that_is_taken(self):
        with serving("--page", str(self.page)) as (_, port, path):
            second = subprocess.run([program, "serve", "--page", str(self.page), "--port", str(port)], capture_output=True, text=True)
            self.assertEqual(second.returncode, 2)
            self.assertIn(f"--port {port}: Address already in use", second.stderr)
        with serving("--page", str(self.page), "--port", str(port)) as (_, same, _):
            self.assertEqual(same, port)

    def test_a_pipe_or_a_device_is_no_page(self):
        pipe = pathlib.Path(self.folder.name, "pipe.html")
        os.mkfifo(pipe)
        for path in (pipe, "/dev/zero"):
            refused = subprocess.run([program, "serve", "--page", path], capture_output=True, text=True, timeout=10)
            self.assertEqual((refused.returncode, refused.stderr), (2, f"gh-advise: {path}: is not a file\n"))

    def test_it_ends_with_the_signal(self):
        with serving("--page", str(self.page)) as (server, *_):
            server.send_signal(signal.SIGINT)
            self.assertEqual(server.wait(10), -signal.SIGINT)


unittest.main()
