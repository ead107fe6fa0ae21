//! The bugs.

/// The bug of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A repeated claim takes more work.
    RetryIsForgotten,
    /// No admission is decided. That is no bug but a fault, and costs nothing but time.
    AdmissionsFail,
    /// Executions of the kind `damaged` cannot be read. That is no bug but a fault, and affects
    /// them alone.
    RecordsAreDamaged,
    /// The same, and a release stops at the first that it cannot read.
    DamageEndsThePass,
    /// The effects of a commit are left to the next call, as after a dropped call.
    SettlementsAreLeft,
    /// The same for continuations.
    ContinuationsAreLeft,
    /// Every page of the limits that executions wait for begins at the first one.
    CursorsDoNotRotate,
    /// A release considers the first waiter alone, whatever it requires.
    ReleasesIgnoreCapability,
    /// A start that was counted and never happened stays counted.
    UnusedStartsStay,
    /// The namespace is not checked.
    NamespaceIsIgnored,
    /// The epoch is compared instead of the whole fence.
    EpochIsEnough,
    /// Timers do not fire.
    TicksAreLost,
    /// A claim takes one more than requested.
    ClaimsTakeMore,
    /// A payload ends at its first NUL.
    BytesAreText,
    /// An index keeps an entry that should be removed.
    EntryIsLeft,
    /// An execution that moves because another does keeps its old place in the queue too.
    FollowersKeepTheirPlace,
    /// A page begins after all that was created with its cursor.
    EqualTimesAreSkipped,
    /// The last timer of a page is left out.
    LastTimerIsHidden,
    /// Pages of attempts begin one too late.
    AttemptIsSkipped,
    /// New work is not announced.
    NothingIsAnnounced,
    /// A paused lane reserves its work.
    PausedLanesGrant,
    /// A draining lane refuses repeated submits.
    DrainsRefuseRepeats,
    /// The defaults of a lane are not applied to its submits.
    DefaultsAreIgnored,
    /// The defaults of a lane override its submits.
    DefaultsOverrule,
    /// A process replaces a live one.
    DuplicatesAreAccepted,
    /// A silent worker is alive until its timer has run.
    SilenceNeedsItsTimer,
    /// A worker is listed as if its heartbeat had just arrived.
    SilenceIsNotSeen,
    /// A registration never expires.
    RegistrationsHaveNoTimer,
    /// Any process can end the registration of a worker.
    AnyProcessDisconnects,
    /// Workers and lanes of every namespace are in one list.
    ListsAreShared,
    /// A page of workers or lanes begins one too late.
    PagesSkipOne,
    /// Every execution is the next in its queue.
    QueueIsIgnored,
    /// An execution that stopped is not settled.
    SettlementsAreLost,
    /// Usage is charged twice.
    UsageIsChargedTwice,
    /// A settlement releases what another admission holds.
    AnyIdSettles,
    /// A budget that is used up admits work.
    BudgetsAreIgnored,
    /// Estimates are not reserved.
    EstimatesAreIgnored,
    /// A quota forgets what it has admitted.
    StartsAreForgotten,
    /// One more may start than the limit.
    WindowsAdmitOneMore,
    /// Executions that wait for a rate are not released when it allows them.
    RatesHaveNoTimer,
    /// The last waiter is released first.
    LastWaitersComeFirst,
    /// An execution that waits for one limit is released for another.
    AnythingUnblocks,
    /// A repeated report of usage counts again.
    RepeatedUsageCounts,
    /// Returned usage is added.
    ReleasesAreAdded,
    /// One namespace's quotas count for all.
    QuotasAreShared,
    /// An admission never expires.
    AdmissionsNeverExpire,
    /// Every call uses the same admission.
    AdmissionsAreShared,
    /// The period of a budget never ends.
    PeriodsNeverEnd,
    /// The timers of tickets do not fire.
    TicketsHaveNoTimer,
    /// The timers of resources are read at the home of their namespace alone.
    TimersAreReadAtHome,
    /// A step is recorded whoever holds the execution.
    AnyHolderRecords,
    /// A replay hides nothing of a journal.
    ReplaysKeepAll,
    /// The end of a sleep is not written.
    SleepsAreForgotten,
    /// The same result of a step again is recorded again.
    RepeatedStepsCount,
    /// The entries of journals are gone and not counted. That is damage, which an audit finds.
    EntriesAreLost,
    /// A suspension waits however long it takes.
    TimeoutsAreLost,
    /// Signals that come before a suspension are forgotten.
    EarlySignalsAreLost,
    /// A waitpoint never expires.
    WaitpointsStayOpen,
    /// A signal that is sent again is a new one.
    RepeatedSignalsCount,
    /// Every signal comes from somebody else.
    SourcesAreForged,
    /// A signal to a waitpoint that is closed reaches one that is open.
    OldTokensFit,
    /// A replaced key verifies for ever.
    KeysNeverRetire,
    /// A named token that has expired is accepted.
    EndedTokensAreAccepted,
    /// A revoked secret is accepted.
    RevokedTokensAreAccepted,
    /// A named token is good for every namespace.
    ScopesAreIgnored,
    /// Frames are appended whoever holds the execution.
    AnyHolderStreams,
    /// Frames that are there already are appended again.
    RepeatedFramesCount,
    /// Frames that leave a gap go to the end.
    GapsAreAccepted,
    /// A frame is taken for text.
    FramesAreText,
    /// A stream has no bound.
    StreamsAreNotTrimmed,
    /// A patch of a summary that is known is applied again.
    RepeatedPatchesCount,
    /// An event that becomes visible after a later one is never told.
    LateEventsAreSkipped,
    /// A log has the events of another namespace.
    EventsAreShared,
    /// A cursor whose events were removed continues with what is left.
    ExpiryIsSilent,
    /// Every cursor before the oldest event has expired, whatever it has seen.
    SeenIsExpired,
    /// A full page has nothing behind it.
    FullPagesEndTheLog,
    /// Tags are not in the log.
    EventsLackTags,
    /// An event that is read again has another id.
    EventIdsChange,
    /// A subscriber begins with the oldest event.
    HeadsAreOld,
    /// Old events are not removed.
    EventsAreKept,
    /// All events are removed.
    TrimsTakeAll,
    /// A feed is switched on at home alone.
    FeedsAreNotSpread,
    /// A feed is not known to have been off.
    EpochsAreForgotten,
    /// A feed that nobody reads stays on.
    FeedsHaveNoTimer,
    /// Who did something is not in the log.
    EventsLackActors,
    /// Whichever process reports, it is taken for the one that delivers.
    AnyTurnReports,
    /// A report of deliveries that is sent again is a new one.
    RepeatedReportsCount,
}
