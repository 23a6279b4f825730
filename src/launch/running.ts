/** An instance that listens, here or in another process. */
export interface Running {
  readonly name: string
  readonly engine: string
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly pid: number
}
