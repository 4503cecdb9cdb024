"""This machine as a node of the scheduler's."""

import os
from pathlib import Path

import pytest

from activities.adapters.local.machine import machine
from activities.adapters.local.settings import Settings

H200, T4 = "NVIDIA H200", "Tesla T4"


def laid_out(root: Path, models: list[str], extra: tuple[str, ...] = ()) -> Path:
    """A root folder of a machine with such GPUs."""
    (root / "dev").mkdir()
    (root / "proc").mkdir()
    (root / "proc/meminfo").write_text("MemTotal:       16384 kB\nMemFree:           12 kB\n")
    for name in extra:
        (root / "dev" / name).touch()
    for number, model in enumerate(models):
        (root / f"dev/nvidia{number}").touch()
        folder = root / f"proc/driver/nvidia/gpus/0000:{number:02d}:00.0"
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 16\nDevice Minor: \t {number}\n")
    return root


@pytest.mark.parametrize(
    ("models", "type_"),
    [([], ""), ([T4], "Tesla-T4"), ([H200] * 8, "NVIDIA-H200"), ([H200, T4], "")],
    ids=["none", "one", "eight", "two models"],
)
def test_the_gpus_of_a_machine_are_those_that_its_driver_made(tmp_path: Path, models: list[str], type_: str) -> None:
    root = laid_out(tmp_path, models, extra=("nvidiactl", "nvidia-uvm", "nvidia-modeset", "null"))
    node = machine(root)
    assert (node.gpus, node.gpu_type, node.gpu_memory) == (len(models), type_, None)
    assert node.allocatable["nvidia.com/gpu"] == str(len(models))


def test_devices_without_the_drivers_own_words_are_of_no_known_type(tmp_path: Path) -> None:
    node = machine(laid_out(tmp_path, [], extra=("nvidia3",)))
    assert (node.gpus, node.gpu_type) == (1, "")


def test_sizes_are_bytes_and_thousandths_of_a_processor(tmp_path: Path) -> None:
    node = machine(laid_out(tmp_path, []))
    assert (node.memory, node.cpu_millis) == (16 * 1024**2, (os.cpu_count() or 1) * 1000)


def test_a_root_without_anything_has_nothing(tmp_path: Path) -> None:
    assert (machine(tmp_path).memory, machine(tmp_path).gpus) == (0, 0)


def test_this_machine_serves_under_the_name_that_its_ranks_are_told() -> None:
    node = machine()
    assert (node.cluster, node.name, node.ready, node.schedulable) == ("local", Settings().node, True, True)
    assert node.memory > 0
