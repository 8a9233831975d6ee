"""Files: judgements, runs, texts, embeddings and whole folders, read and written.

Whatever the bytes, a reader gives a value or an `askew.errors.AskewError` that names the file and,
for text, the line. Writers put the old file or the new one at a path, never half of one.
"""

from askew.formats.artefact import load_adapter, refuse_foreign, save_adapter
from askew.formats.checkpoints import last_checkpoint, read_checkpoint, write_checkpoint
from askew.formats.choices import read_choices
from askew.formats.embeddings import embedding_lines, read_embeddings, write_embedding_blocks, write_embeddings
from askew.formats.encoder_card import EncoderCard, check_card, read_card, write_card
from askew.formats.folder import (
    encoder_of_documents,
    list_encoders,
    list_splits,
    read_dataset,
    read_side,
    read_side_texts,
    read_split,
)
from askew.formats.mair import MairTask, is_mair, list_mair, read_mair
from askew.formats.qrels import read_qrels, write_qrels
from askew.formats.runs import read_run, run_lines, write_run
from askew.formats.signed import SignedArtefact, is_signed_folder, load_signed, refuse_foreign_signed, save_signed
from askew.formats.tasks import holds_task, list_tasks, write_task
from askew.formats.texts import read_texts
from askew.formats.tokens import is_token_folder, read_tokens, write_tokens

__all__ = [
    "EncoderCard",
    "MairTask",
    "SignedArtefact",
    "check_card",
    "embedding_lines",
    "encoder_of_documents",
    "holds_task",
    "is_mair",
    "is_signed_folder",
    "is_token_folder",
    "last_checkpoint",
    "list_encoders",
    "list_mair",
    "list_splits",
    "list_tasks",
    "load_adapter",
    "load_signed",
    "read_card",
    "read_checkpoint",
    "read_choices",
    "read_dataset",
    "read_embeddings",
    "read_mair",
    "read_qrels",
    "read_run",
    "read_side",
    "read_side_texts",
    "read_split",
    "read_texts",
    "read_tokens",
    "refuse_foreign",
    "refuse_foreign_signed",
    "run_lines",
    "save_adapter",
    "save_signed",
    "write_card",
    "write_checkpoint",
    "write_embedding_blocks",
    "write_embeddings",
    "write_qrels",
    "write_run",
    "write_task",
    "write_tokens",
]
