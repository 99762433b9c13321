// The warmed interpreter: imports modules and files once, then forks for every launch a supervisor,
// which forks the child that calls the function. It speaks the frames of wire.h over descriptor 3
// and ends with the spawner. Python 3.9 or newer, standard library only.
#include "rollouts/python_host_script.h"

namespace corisco::rollouts {
const char* const kPythonHostScript = R"PYTHON(
import ctypes, gc, importlib, importlib.util, inspect, json, os, resource, select, signal
import socket, struct, sys, time, traceback

CONTROL_FD = 3
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
EXITED, SIGNALLED, KILLED, NOT_STARTED = range(4)
LEFTOVER_GRACE = 0.1   # seconds between SIGTERM and SIGKILL for what a function leaves running
KILL_AGAIN = 0.005
libc = ctypes.CDLL(None)
loaded_files = {}


# --- frames: 4 bytes of length, a type, a body

def send_frame(sock, kind, body):
    sock.sendall(struct.pack("<I", len(body)) + kind + body)


def receive_exactly(sock, count):
    pieces = []
    while count > 0:
        piece = sock.recv(min(count, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def receive_launch(control):
    """The next launch's body and its supervisor's socket, which travels with the first byte."""
    head, fds, _, _ = socket.recv_fds(control, 5, 1)
    while head and len(head) < 5:
        more, more_fds, _, _ = socket.recv_fds(control, 5 - len(head), 1)
        head, fds = (head + more, fds + more_fds) if more else (b"", fds)
    if not head or not fds:
        return None
    body = receive_exactly(control, struct.unpack("<I", head[:4])[0])
    return None if body is None else (body, fds[0])


class Reader:
    def __init__(self, body):
        self.body, self.at = body, 0

    def number(self, form):
        value, = struct.unpack_from("<" + form, self.body, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        size = self.number("I")
        self.at += size
        return os.fsdecode(self.body[self.at - size:self.at])


class Launch:
    def __init__(self, body):
        reader = Reader(body)
        self.rollout, self.attempt = reader.number("Q"), reader.number("I")
        self.argv = [reader.text() for _ in range(reader.number("I"))]
        self.function = reader.text()
        self.arguments = reader.text()
        self.env = {}
        for _ in range(reader.number("I")):
            name = reader.text()
            self.env[name] = reader.text()
        self.work_folder, self.output_file, self.result_file = (reader.text() for _ in range(3))
        self.output_bytes_max, self.memory_mb_max = reader.number("Q"), reader.number("Q")

    def end_frame(self, how, code, error=""):
        message = error.encode()
        return struct.pack("<QIBiI", self.rollout, self.attempt, how, code, len(message)) + message


# --- modules and files

def load_file(path):
    path = os.path.realpath(path)
    if path in loaded_files:
        return loaded_files[path]
    folder, name = os.path.split(path)
    name = os.path.splitext(name)[0]
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if name in sys.modules:
        name = "corisco_file_%d_%s" % (len(loaded_files), name)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    loaded_files[path] = module
    return module


def find_function(place):
    path, _, name = place.rpartition(":")
    function = getattr(load_file(path), name, None)
    if not callable(function):
        raise AttributeError("%s has no function %s" % (path, name))
    return function


def preload(names):
    for name in names:
        try:
            if name.endswith(".py"):
                load_file(name)
            elif ".py:" in name:
                find_function(name)
            else:
                importlib.import_module(name)
        except BaseException:
            return "could not import %s:\n%s" % (name, traceback.format_exc())
    return ""


# --- the tree of a launch

def parents():
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    yield int(name), int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                pass


def descendants():
    children = {}
    for pid, parent in parents():
        children.setdefault(parent, []).append(pid)
    found = [os.getpid()]
    for pid in found:
        found.extend(children.get(pid, []))
    return found[1:]


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def kill_descendants():
    pids = []
    for _ in range(16):
        now = descendants()
        signal_all(now, signal.SIGSTOP)
        is_stable = len(now) <= len(pids)
        pids = now
        if is_stable:
            break
    signal_all(pids, signal.SIGKILL)


class Output:
    """Copies a pipe into a file up to a limit; the rest is read, dropped and counted."""

    def __init__(self, path, bytes_max):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self.is_open, self.left, self.dropped = True, bytes_max, 0

    def copy_available(self):
        for _ in range(16):
            if not self.is_open:
                return
            try:
                block = os.read(self.read_end, 65536)
            except BlockingIOError:
                return
            if not block:
                self.is_open = False
                return
            done = 0
            try:
                while done < min(len(block), self.left):
                    done += os.write(self.file, block[done:self.left])
            except OSError:
                self.left = done   # the disk is full
            self.left -= done
            self.dropped += len(block) - done

    def finish(self):
        self.copy_available()
        if self.dropped:
            try:
                os.write(self.file, b"\n[%d more bytes of output were dropped]\n" % self.dropped)
            except OSError:
                pass


class Supervisor:
    def __init__(self, control, launch, output):
        self.control, self.launch, self.output = control, launch, output
        self.status = self.kill_at = None
        self.was_killed = self.was_asked = False
        self.received = b""
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        os.set_blocking(self.wake_write, False)
        signal.set_wakeup_fd(self.wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self.note_term)

    def note_term(self, *_):
        self.was_asked = True

    def run(self):
        self.child = os.fork()
        if self.child == 0:
            call_in_child(self)
        os.close(self.output.write_end)
        while self.reap():
            if self.was_asked:
                self.was_asked, self.was_killed = False, True
                self.end_tree(0)
            if self.status is not None and self.kill_at is None:
                self.end_tree(LEFTOVER_GRACE)
            if self.kill_at is not None and time.monotonic() >= self.kill_at:
                kill_descendants()
            self.wait()
        self.output.finish()
        self.report()

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.status = status

    def end_tree(self, grace):
        at = time.monotonic() + grace
        if self.kill_at is None and grace > 0:
            signal_all(descendants(), signal.SIGTERM)
        self.kill_at = at if self.kill_at is None else min(self.kill_at, at)

    def wait(self):
        timeout = None
        if self.kill_at is not None:
            timeout = max(self.kill_at - time.monotonic(), KILL_AGAIN)
        watched = [self.wake_read] + ([self.control] if self.control else [])
        watched += [self.output.read_end] if self.output.is_open else []
        ready = select.select(watched, [], [], timeout)[0]
        if self.control in ready:
            self.obey()
        if self.wake_read in ready:
            os.read(self.wake_read, 4096)
        if self.output.read_end in ready:
            self.output.copy_available()

    def obey(self):
        piece = self.control.recv(4096)
        if not piece:   # the spawner is gone
            self.control, self.was_killed = None, True
            self.end_tree(0)
            return
        self.received += piece
        while len(self.received) >= 21:   # a kill: its head, rollout, attempt, grace
            grace_ms, = struct.unpack_from("<I", self.received, 17)
            self.received = self.received[21:]
            self.was_killed = self.was_killed or self.status is None
            self.end_tree(grace_ms / 1000)

    def report(self):
        if self.control is None:
            return
        how, code = EXITED, 0
        if os.WIFSIGNALED(self.status):
            how, code = SIGNALLED, os.WTERMSIG(self.status)
        else:
            code = os.WEXITSTATUS(self.status)
        send_frame(self.control, b"E", self.launch.end_frame(KILLED if self.was_killed else how, code))


def supervise(control_fd, launch, host):
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != host:
        return
    os.close(CONTROL_FD)
    control = socket.socket(fileno=control_fd)
    send_frame(control, b"S", struct.pack("<I", os.getpid()))
    try:
        output = Output(launch.output_file, launch.output_bytes_max)
    except OSError as error:
        send_frame(control, b"E", launch.end_frame(NOT_STARTED, 0, str(error)))
        return
    Supervisor(control, launch, output).run()


# --- the child that calls the function

def enter(supervisor, launch):
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.setsid()
    os.umask(0o077)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(supervisor.output.write_end, 1)
    os.dup2(supervisor.output.write_end, 2)
    supervisor.control.close()
    for fd in (null, supervisor.output.write_end, supervisor.output.read_end, supervisor.output.file,
               supervisor.wake_read, supervisor.wake_write):
        os.close(fd)
    os.environ.clear()
    os.environ.update(launch.env)
    os.chdir(launch.work_folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if launch.memory_mb_max:
        limit = launch.memory_mb_max << 20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    sys.argv = [launch.function]
    gc.enable()


def plain(value):
    """For json: numbers of other libraries know how to become Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError("not JSON: " + type(value).__name__)


def result_of(value):
    shown = repr(value)[:200]
    try:
        return json.dumps({"ok": True, "value": value, "shown": shown}, default=plain,
                          allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps({"ok": True, "value": None, "shown": shown})


def call(launch):
    try:
        value = find_function(launch.function)(*json.loads(launch.arguments))
        if inspect.iscoroutine(value):
            import asyncio
            value = asyncio.run(value)
        return result_of(value), 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else (0 if stop.code is None else 1)
        if code and not isinstance(stop.code, int):
            print(stop.code, file=sys.stderr)
        return json.dumps({"ok": False, "error": "the function called sys.exit(%r)" % (stop.code,)}), code
    except BaseException:
        text = traceback.format_exc()
        sys.stderr.write(text)
        return json.dumps({"ok": False, "error": text[-8000:]}), 1


def call_in_child(supervisor):
    code = 126
    try:
        launch = supervisor.launch
        enter(supervisor, launch)
        result, code = call(launch)
        if launch.result_file:
            aside = "%s.%d.tmp" % (launch.result_file, os.getpid())
            with open(aside, "w") as file:
                file.write(result)
            os.replace(aside, launch.result_file)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        try:
            traceback.print_exc()
        finally:
            code = code or 126
    finally:
        os._exit(code)


def main():
    if sys.version_info < (3, 9):
        error = "Python 3.9 or newer is needed, this is " + sys.version.split()[0]
    else:
        if sys.path and sys.path[0] == "":
            sys.path.pop(0)
        error = preload(sys.argv[1:])
    control = socket.socket(fileno=CONTROL_FD)
    send_frame(control, b"R", error.encode(errors="replace"))
    if error:
        return 1
    gc.collect()
    gc.disable()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)   # supervisors report over their own sockets
    host = os.getpid()
    while True:
        received = receive_launch(control)
        if received is None:
            return 0
        body, fd = received
        if os.fork() == 0:
            try:
                supervise(fd, Launch(body), host)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(fd)


if __name__ == "__main__":
    sys.exit(main())
)PYTHON";
}  // namespace corisco::rollouts
