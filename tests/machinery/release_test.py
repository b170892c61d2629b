"""scripts/release: the archive is the commit's, byte for byte; each installed file is in one package, which says what it is."""
import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "scripts" / "release"))
release = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
loader.exec_module(release)
import debian_packages  # noqa: E402  (found beside the script)

FACTS = debian_packages.Facts("3.14.15", "An Author <author@example>", 1_000_000_000, "No licence is chosen.\n", "## 3.14.15\n")
INSTALLED = ["usr/bin/tokamak", "usr/include/tokamak/c.h", "usr/lib/cpu/libtokamak.a", "usr/lib/cpu/libtokamak.so",
             "usr/lib/cpu/libtokamak.so.3.14", "usr/lib/cpu/libtokamak.so.3.14.15", "usr/lib/cpu/pkgconfig/tokamak.pc",
             "usr/share/zsh/site-functions/_tokamak"]


class Archive(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "tree"
        (self.root / "scripts").mkdir(parents=True)
        for script in ("release", "debian_packages.py", "clean_system.py"):
            shutil.copy(ROOT / "scripts" / script, self.root / "scripts")
        (self.root / "CMakeLists.txt").write_text("project(tokamak VERSION 3.14.15)\n")
        (self.root / "run").write_text("#!/bin/sh\n")
        (self.root / "run").chmod(0o755)
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "one")

    def git(self, *arguments):
        subprocess.run(["git", "-C", str(self.root), *arguments], check=True)

    def release(self, *arguments, umask=0o022):
        return subprocess.run([sys.executable, "-B", self.root / "scripts" / "release", *arguments], check=False, umask=umask,
                              capture_output=True, text=True)

    def archive(self, folder, **options):
        output = self.root.parent / folder
        done = self.release("--archive-only", "--output", output, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = list(output.iterdir())
        self.assertEqual([path.name for path in made], ["tokamak-3.14.15.tar.gz"])
        self.assertIn(hashlib.sha256(made[0].read_bytes()).hexdigest(), done.stdout)
        return made[0], done.stdout

    def test_the_same_commit_gives_the_same_bytes(self):
        one, _ = self.archive("one")
        self.git("config", "tar.umask", "0077")
        os.utime(self.root / "run")
        other, _ = self.archive("other", umask=0o077)
        self.assertEqual(one.read_bytes(), other.read_bytes())
        self.assertEqual(one.read_bytes()[3:8], bytes(5), "the header of gzip has a name or a time")

    def test_changes_that_are_no_commit_are_left_out_and_named(self):
        (self.root / "run").write_text("changed\n")
        (self.root / "stray").write_text("")
        path, said = self.archive("one")
        self.assertIn("changes that are no commit", said)
        with tarfile.open(path) as tar:
            self.assertEqual(tar.extractfile("tokamak-3.14.15/run").read(), b"#!/bin/sh\n")
            self.assertEqual(tar.getmember("tokamak-3.14.15/run").mode, 0o755)
            self.assertNotIn("tokamak-3.14.15/stray", tar.getnames())

    def test_bad_usage_is_refused(self):
        done = self.release("--commit", "nothing")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--commit nothing: there is no such commit", done.stderr)
        self.assertEqual(self.release("--nothing").returncode, 2)

    def test_help_names_the_options(self):
        done = self.release("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--archive-only", "--commit", "--output", "--jobs"):
            self.assertIn(option, done.stdout)


class Version(unittest.TestCase):
    def test_the_script_reads_what_the_build_reads(self):
        project = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        version = release.version_of(project)
        script = 'cmake_minimum_required(VERSION 3.25)\nmacro(project)\n  message(NOTICE "${ARGV2}")\n  return()\nendmacro()\n'
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "project.cmake"
            path.write_text(script + project.replace("cmake_minimum_required", "# "))
            done = subprocess.run(["cmake", "-P", path], capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr.splitlines()[:1], [version])

    def test_a_project_without_a_version_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "states no version"):
            release.version_of("project(tokamak)\n")


class Packages(unittest.TestCase):
    def test_each_file_is_in_one_package(self):
        shares = debian_packages.distribute(INSTALLED, debian_packages.packages_of(FACTS))
        self.assertEqual(shares["libtokamak3.14"], ["usr/lib/cpu/libtokamak.so.3.14", "usr/lib/cpu/libtokamak.so.3.14.15"])
        self.assertEqual(shares["tokamak"], ["usr/bin/tokamak", "usr/share/zsh/site-functions/_tokamak"])
        self.assertEqual(sorted(sum(shares.values(), [])), INSTALLED)

    def test_a_file_of_no_package_and_a_package_without_files_are_refused(self):
        packages = debian_packages.packages_of(FACTS)
        with self.assertRaisesRegex(ValueError, "usr/games/tokamak: is in 0 packages"):
            debian_packages.distribute([*INSTALLED, "usr/games/tokamak"], packages)
        with self.assertRaisesRegex(ValueError, "tokamak: has no file"):
            debian_packages.distribute(INSTALLED[1:-1], packages)

    @unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "there is no dpkg-shlibdeps")
    def test_packages_are_reproducible_and_say_what_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for file in INSTALLED:
                (root / "stage" / file).parent.mkdir(parents=True, exist_ok=True)
                (root / "stage" / file).write_text(file)
            made = []
            for name in ("one", "other"):
                (root / name).mkdir()
                made.append(debian_packages.make(FACTS, root / "stage", root / f"{name}.work", root / name))
            self.assertEqual([path.read_bytes() for path in made[0]], [path.read_bytes() for path in made[1]])

            def field(name, which):
                return subprocess.run(["dpkg-deb", "--field", made[0][which], name], capture_output=True, text=True,
                                      check=True).stdout.strip()
            self.assertEqual(field("Version", 0), "3.14.15")
            self.assertEqual(field("Depends", 1), "libtokamak3.14 (= 3.14.15)")
            self.assertIn("c-compiler", field("Recommends", 2))
            self.assertEqual(field("Depends", 2), "")
            subprocess.run(["dpkg-deb", "-x", made[0][2], root / "x"], check=True)
            self.assertEqual((root / "x/usr/share/doc/tokamak/copyright").read_text(), FACTS.licence)
            self.assertTrue((root / "x/usr/share/zsh/vendor-completions/_tokamak").exists())


if __name__ == "__main__":
    unittest.main()
