"""Do others read what we export? Compares onnxruntime and safetensors with our own scores.

The argument is a folder. Beside every NAME.json, which holds `features` (rows), `scores` (rows),
`precision` ("f32" or "f64") and optionally `shape` of a record and `parameters` (a list), there is
NAME.onnx, and NAME.safetensors if there are parameters. Prints a line for each and fails at the
first that differs.
"""

import json
import pathlib
import sys

import numpy
import onnx
import onnxruntime

TOLERANCE = {"f32": 1e-5, "f64": 1e-12}


def main(folder):
    names = sorted(pathlib.Path(folder).glob("*.json"))
    if not names:
        raise SystemExit(f"nothing to check in {folder}")
    for path in names:
        check(path, json.loads(path.read_text()))
        print(f"{path.stem}: agrees")


def check(path, expected):
    precision = expected["precision"]
    kind = {"f32": numpy.float32, "f64": numpy.float64}[precision]
    model = path.with_suffix(".onnx")
    onnx.checker.check_model(str(model), full_check=True)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    features = numpy.array(expected["features"], kind)
    if "shape" in expected:
        features = features.reshape([len(features), *expected["shape"]])
    (scores,) = session.run(["scores"], {"features": features})
    wanted = numpy.array(expected["scores"], kind)
    if scores.shape != wanted.shape or scores.dtype != kind:
        raise SystemExit(f"{path.stem}: scores are {scores.dtype}{scores.shape}")
    distance = float(numpy.abs(scores - wanted).max())
    if not distance <= TOLERANCE[precision]:
        raise SystemExit(f"{path.stem}: scores differ by {distance}")
    if "parameters" in expected:
        from safetensors.numpy import load_file

        tensors = load_file(path.with_suffix(".safetensors"))
        order = [tensors[name].ravel() for name in ("weight", "bias") if name in tensors]
        if not (numpy.concatenate(order) == numpy.array(expected["parameters"], kind)).all():
            raise SystemExit(f"{path.stem}: parameters differ")


if __name__ == "__main__":
    main(sys.argv[1])
