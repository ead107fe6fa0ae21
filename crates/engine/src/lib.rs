//! Background services: timers.
