//! The bugs.

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A repeated claim takes more work.
    RetryIsForgotten,
    /// No admission comes to its end. That is no bug but bad luck, and costs nothing but time.
    AdmissionsFail,
    /// Executions of the kind `damaged` cannot be read. That is no bug but bad luck, and costs them alone.
    RecordsAreDamaged,
    /// The same, and a release stops at the first that it cannot read.
    DamageEndsThePass,
    /// What follows a commit is left to the next call, as by a caller that goes away.
    SettlementsAreLeft,
    /// The limits that executions wait for are told from the first one each time.
    CursorsDoNotRotate,
    /// A release looks at the first waiter alone, whatever it requires.
    ReleasesIgnoreCapability,
    /// What was counted for a start that never came stays counted.
    UnusedStartsStay,
    /// Any namespace will do.
    NamespaceIsIgnored,
    /// The epoch is taken for the whole fence.
    EpochIsEnough,
    /// Time does nothing.
    TicksAreLost,
    /// A claim takes one more than was asked for.
    ClaimsTakeMore,
    /// A payload ends at its first NUL.
    BytesAreText,
    /// An index keeps an entry that should be gone.
    EntryIsLeft,
    /// A page begins after all that was created with its cursor.
    EqualTimesAreSkipped,
    /// The last timer of a page is left out.
    LastTimerIsHidden,
    /// Attempts are told from the one after the one asked for.
    AttemptIsSkipped,
    /// Nobody hears of new work.
    NothingIsAnnounced,
    /// A paused lane reserves its work.
    PausedLanesGrant,
    /// A draining lane refuses what it has already.
    DrainsRefuseRepeats,
    /// What a lane says for its submits does not reach them.
    DefaultsAreIgnored,
    /// What a lane says comes before what a submit says.
    DefaultsOverrule,
    /// A process takes the place of a live one.
    DuplicatesAreAccepted,
    /// A silent worker is alive until its timer has run.
    SilenceNeedsItsTimer,
    /// A worker is listed as if it had just been heard of.
    SilenceIsNotSeen,
    /// Time never ends a registration.
    SilenceIsNotDue,
    /// Anybody can say that a worker leaves.
    AnybodyDisconnects,
    /// Workers and lanes of every namespace are in one list.
    ListsAreShared,
    /// A page of workers or lanes begins one too late.
    PagesSkipOne,
    /// Everybody is told to be next.
    NobodyIsAhead,
    /// What has stopped is not settled.
    SettlementsAreLost,
    /// What was used is charged twice.
    UsageIsChargedTwice,
    /// A settlement takes back what another admission holds.
    AnyNameSettles,
    /// A budget that is used up lets work through.
    BudgetsAreNotAsked,
    /// What work is expected to use is not reserved.
    EstimatesAreIgnored,
    /// A quota forgets what it has admitted.
    StartsAreForgotten,
    /// One more may start than the limit.
    WindowsLetOneMore,
    /// Executions that wait for a rate are not released when it has room.
    RatesAreNotDue,
    /// Those who wait last come first.
    LastWaitersComeFirst,
    /// An execution that waits for one limit is released for another.
    AnythingUnblocks,
    /// Usage that is told again counts again.
    RepeatedUsageCounts,
    /// What is taken back is added.
    ReleasesAreAdded,
    /// One namespace's quotas count for all.
    QuotasAreShared,
    /// An admission may be used at any time.
    AdmissionsLastForEver,
    /// Everybody is told of an admission.
    AdmissionsAreShared,
    /// Time never ends the period of a budget.
    PeriodsNeverEnd,
    /// Nobody looks after tickets.
    TicketsAreNotDue,
}
