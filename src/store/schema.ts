import type { DatabaseSync } from 'node:sqlite'

/** `errd`: tells our file from any other SQLite file. */
export const applicationId = 0x65727264

/** The steps from one version of the file to the next; `user_version` counts those taken. A step is never edited. */
export const migrations: readonly string[] = [
  `
  -- One row per scope (an instance, or * for all) and window (total, 2026-12, 2026-12-01).
  CREATE TABLE balances (
    scope TEXT NOT NULL,
    window TEXT NOT NULL,
    spentMicroUsd INTEGER NOT NULL DEFAULT 0 CHECK (spentMicroUsd >= 0),
    heldMicroUsd INTEGER NOT NULL DEFAULT 0 CHECK (heldMicroUsd >= 0),
    creditMicroUsd INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0 CHECK (tokens >= 0),
    heldTokens INTEGER NOT NULL DEFAULT 0 CHECK (heldTokens >= 0),
    turns INTEGER NOT NULL DEFAULT 0 CHECK (turns >= 0),
    heldTurns INTEGER NOT NULL DEFAULT 0 CHECK (heldTurns >= 0),
    unknownTurns INTEGER NOT NULL DEFAULT 0 CHECK (unknownTurns >= 0),
    PRIMARY KEY (scope, window)
  ) STRICT, WITHOUT ROWID;

  -- heldMicroUsd and heldTokens are NULL where nothing limits them; limits is the JSON that it was admitted with.
  CREATE TABLE turns (
    number INTEGER PRIMARY KEY,
    turn TEXT NOT NULL UNIQUE,
    root TEXT NOT NULL,
    parent TEXT,
    instance TEXT NOT NULL,
    sender TEXT NOT NULL,
    depth INTEGER NOT NULL,
    engine TEXT NOT NULL,
    model TEXT,
    session TEXT,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'ending', 'done')),
    owner TEXT NOT NULL,
    tokenDigest TEXT NOT NULL,
    limits TEXT NOT NULL,
    createdAtMs INTEGER NOT NULL,
    startedAtMs INTEGER,
    endedAtMs INTEGER,
    pid INTEGER,
    startTime TEXT,
    day TEXT,
    month TEXT,
    heldMicroUsd INTEGER,
    heldTokens INTEGER,
    seenMicroUsd INTEGER NOT NULL DEFAULT 0,
    seenTokens INTEGER NOT NULL DEFAULT 0,
    costMicroUsd INTEGER,
    basis TEXT,
    tokens INTEGER NOT NULL DEFAULT 0,
    outcome TEXT,
    error TEXT
  ) STRICT;
  CREATE INDEX turnsByInstance ON turns (instance);
  CREATE INDEX turnsByRoot ON turns (root);
  CREATE INDEX openTurns ON turns (instance) WHERE state <> 'done';
  CREATE INDEX openChildren ON turns (parent) WHERE state <> 'done';
  CREATE INDEX goodTokens ON turns (tokenDigest) WHERE state = 'running';

  CREATE TABLE answers (
    turn TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    createdAtMs INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX answersByAge ON answers (createdAtMs);

  -- What was done to a budget by hand. History: rows are added, never edited.
  CREATE TABLE credits (
    number INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    window TEXT NOT NULL,
    kind TEXT NOT NULL,
    microUsd INTEGER NOT NULL,
    note TEXT,
    createdAtMs INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE hosts (
    owner TEXT PRIMARY KEY,
    bootId TEXT NOT NULL,
    pidNamespace TEXT NOT NULL,
    pid INTEGER NOT NULL,
    startTime TEXT NOT NULL,
    startedAtMs INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE instances (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    engine TEXT NOT NULL,
    url TEXT,
    claimedAtMs INTEGER NOT NULL,
    stopRequestedAtMs INTEGER
  ) STRICT;
  `,
  `
  ALTER TABLE turns ADD COLUMN thread TEXT;
  -- When its time is up; the talks that it makes have no longer.
  ALTER TABLE turns ADD COLUMN deadlineAtMs INTEGER;

  -- The provider's session that a thread goes on with, and what that had come to after the last turn on it.
  CREATE TABLE threads (
    sender TEXT NOT NULL,
    instance TEXT NOT NULL,
    thread TEXT NOT NULL,
    engine TEXT NOT NULL,
    session TEXT NOT NULL,
    totalMicroUsd INTEGER,
    totalTokens INTEGER,
    updatedAtMs INTEGER NOT NULL,
    PRIMARY KEY (sender, instance, thread)
  ) STRICT, WITHOUT ROWID;

  -- Idempotency keys; envelope is NULL while the turn is open.
  CREATE TABLE requests (
    sender TEXT NOT NULL,
    instance TEXT NOT NULL,
    key TEXT NOT NULL,
    bodyDigest TEXT NOT NULL,
    turn TEXT NOT NULL,
    envelope TEXT,
    createdAtMs INTEGER NOT NULL,
    PRIMARY KEY (sender, instance, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX requestsByAge ON requests (createdAtMs);
  CREATE INDEX requestsByTurn ON requests (turn);

  -- Roots that a script gave a budget of their own; what they spent is the balance of the scope root:ID.
  CREATE TABLE roots (
    root TEXT PRIMARY KEY,
    limitMicroUsd INTEGER,
    createdAtMs INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- What a reset or a forgiven turn gave back, besides the money.
  ALTER TABLE credits ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE credits ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE credits ADD COLUMN turn TEXT;
  -- The last credit before it was settled: what came after can be told from what came before, whatever the clock did.
  ALTER TABLE turns ADD COLUMN creditsBefore INTEGER;
  CREATE INDEX creditsByScope ON credits (scope, window);
  `,
  `
  -- Whose process the turn of a key waits or runs in.
  ALTER TABLE requests ADD COLUMN owner TEXT;
  CREATE INDEX openThreads ON turns (instance, sender, thread) WHERE state <> 'done' AND thread IS NOT NULL;
  `,
  `
  -- Workflows of scripts, so that one that was interrupted can go on: input (JSON) is what was to be asked of whom.
  CREATE TABLE workflows (
    name TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    root TEXT NOT NULL,
    input TEXT NOT NULL,
    touchedAtMs INTEGER NOT NULL,
    endedAtMs INTEGER
  ) STRICT, WITHOUT ROWID;

  -- What became of their steps; envelope (JSON) is set where one was answered.
  CREATE TABLE workflowSteps (
    workflow TEXT NOT NULL,
    step INTEGER NOT NULL,
    digest TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'failed')),
    envelope TEXT,
    PRIMARY KEY (workflow, step)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- On whose behalf another process wants it ended; whoever has it looks for that.
  ALTER TABLE turns ADD COLUMN endAskedBy TEXT;
  `,
]

/** Takes the steps that are missing. Inside a transaction, so two first starts at once take each of them once. */
export const migrate = (db: DatabaseSync, fromVersion: number): void => {
  for (const step of migrations.slice(fromVersion)) db.exec(step)
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`)
}
