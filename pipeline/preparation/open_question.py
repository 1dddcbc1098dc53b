"""Questions that the shapes of a knee leave to the user."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foundation.anatomy.evidence import AnatomicalFrame, Evidence
from foundation.base.errors import InputError
from foundation.surfaces.triangle_mesh import TriangleMesh


class OpenQuestion(InputError):
    """The shape leaves a question, such as which side of a body is anterior.

    `question` and `remedy` are words for people; `body`, "femur" or "tibia", is the one whose
    anterior side is not known, and `frame` its frame, which may face backward.
    """

    def __init__(
        self,
        question: str,
        remedy: str,
        body: str | None = None,
        frame: AnatomicalFrame | None = None,
    ) -> None:
        super().__init__(f"{question}; {remedy}")
        self.question = question
        self.remedy = remedy
        self.body = body
        self.frame = frame

    @property
    def answers(self) -> tuple[str, str]:
        """Signed axes of the file that point nearest to the front and to the back of the frame."""
        assert self.frame is not None
        return anterior_names(self.frame)

    def seen_in(self, picture: Path) -> OpenQuestion:
        """Return the question with the file of a picture in its words."""
        question = f"{self.question}; see {picture}"
        return OpenQuestion(question, self.remedy, self.body, self.frame)


def anterior_names(frame: AnatomicalFrame) -> tuple[str, str]:
    """Return the signed axes of the file nearest to the front and to the back of a frame."""
    ahead = frame.rotation[0]
    name = "xyz"[int(np.argmax(np.abs(ahead)))]
    signs = ("", "-") if ahead[np.argmax(np.abs(ahead))] > 0.0 else ("-", "")
    return f"{signs[0]}{name}", f"{signs[1]}{name}"


def anterior_question(
    mesh: TriangleMesh, body: str, evidence: Evidence, frame: AnatomicalFrame
) -> OpenQuestion:
    """Return the question which end of a body is anterior, whose shape does not tell."""
    option = f"--{body}-anterior"
    first, second = anterior_names(frame)
    return OpenQuestion(
        f"{mesh.name}: does {first} or {second} of the file point anterior? The shape of the "
        f"{body} does not tell ({evidence.reason})",
        f"add {option}={first} or {option}={second}, or state the axes of the files (init --axes)",
        body,
        frame,
    )
