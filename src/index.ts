export type { BudgetsJson } from './config/config-object.ts'
export type {
  Access,
  Command,
  Engine,
  EngineEnd,
  EngineEvent,
  EngineTask,
  Failure,
  Json,
  JsonView,
  LoggedRun,
  Login,
  McpServer,
  MicroUsd,
  SessionLog,
  Usage,
} from './engine/engine.ts'
export type { Running } from './launch/running.ts'
export { type Bus, type LaunchScope, launch, type TalkOptions } from './launch/script.ts'
export type { Envelope, FailureEnvelope, ReplyExt, SuccessEnvelope } from './protocol/envelope.ts'
export type { Progress, ProgressEvent } from './protocol/progress.ts'
export { type Chained, type ChainRequest, chain, type Link, type Linked } from './work/chain.ts'
export { type Branch, type Fanned, type FanRequest, fan } from './work/fan.ts'
export type { PromptMaker, StepEvent, StepOf, WorkOptions } from './work/options.ts'
export type { Verdict } from './work/verdict.ts'
export { type Verified, type VerifyRequest, verify } from './work/verify.ts'
